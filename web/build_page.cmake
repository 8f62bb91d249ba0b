# SPDX-License-Identifier: Apache-2.0
# Makes dist/index.html when something that it is made of is newer.
# usage: cmake -DNPM=npm -P build_page.cmake
# A failure is a warning and leaves no page behind: nothing else of the build needs it.
set(web "${CMAKE_CURRENT_LIST_DIR}")
set(page "${web}/dist/index.html")
set(installed "${web}/node_modules/.package-lock.json")

# Several build folders share this one.
file(LOCK "${web}" DIRECTORY GUARD PROCESS TIMEOUT 600)

function(run_npm what)
  execute_process(COMMAND "${NPM}" ${ARGN} WORKING_DIRECTORY "${web}" RESULT_VARIABLE code
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    file(REMOVE "${page}")
    message(STATUS "${output}")
    list(JOIN ARGN " " arguments)
    message(WARNING "The explorer's page is not built: ${what} failed "
                    "(npm ${arguments}, in ${web})")
  endif()
  set(npm_code ${code} PARENT_SCOPE)
endfunction()

if("${web}/package-lock.json" IS_NEWER_THAN "${installed}")
  run_npm("getting the packages" ci --no-fund --no-audit)
  if(NOT npm_code EQUAL 0)
    return()
  endif()
  file(TOUCH "${installed}")
endif()

file(GLOB_RECURSE sources "${web}/src/*")
list(APPEND sources "${web}/index.html" "${web}/vite.config.js" "${web}/svelte.config.js"
     "${installed}")
foreach(source IN LISTS sources)
  if("${source}" IS_NEWER_THAN "${page}")
    run_npm("making it" run --silent build -- --logLevel warn)
    if(npm_code EQUAL 0)
      message(STATUS "Made ${page}")
    endif()
    return()
  endif()
endforeach()
