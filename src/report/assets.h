// SPDX-License-Identifier: Apache-2.0
// The files of report/assets, embedded by the build (embed.cmake).
#pragma once

#include <string_view>

namespace crossdock::report::assets {

extern const std::string_view
    kPage;  // page.html, with the marks {{title}} {{style}} {{data}} {{script}}
extern const std::string_view kStyle;   // report.css
extern const std::string_view kScript;  // the .js files, one after the other

}  // namespace crossdock::report::assets
