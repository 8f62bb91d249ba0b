// SPDX-License-Identifier: Apache-2.0
// Small things that outlive a visit. A page opened from disk may be refused storage; then they do not.

export function remembered(key, fallback) {
  try {
    return JSON.parse(localStorage.getItem(`crossdock.explore.${key}`)) ?? fallback;
  } catch {
    return fallback;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(`crossdock.explore.${key}`, JSON.stringify(value));
  } catch {
    // Nothing depends on it.
  }
}
