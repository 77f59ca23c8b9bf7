/* SPDX-License-Identifier: Apache-2.0 */
/* Is this built with a sanitizer? What that needs for itself is no part of a bound that a service
 * keeps. */
#pragma once

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif
