// SPDX-License-Identifier: Apache-2.0
// Which sanitizer this build has, as constants, so that both ways are always compiled.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CROSSDOCK_THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer)
#define CROSSDOCK_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define CROSSDOCK_THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CROSSDOCK_ADDRESS_SANITIZER 1
#endif

namespace crossdock {

#if defined(CROSSDOCK_THREAD_SANITIZER)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined(CROSSDOCK_ADDRESS_SANITIZER)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace crossdock
