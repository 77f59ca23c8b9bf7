/* SPDX-License-Identifier: Apache-2.0 */
/* Loads from client memory, for a fuzzer that plays the client: it is called before each and
 * changes words then, as the client may (tests/fuzz/engine_world.c). Nothing in any other build. */
#pragma once

enum client_load { CLIENT_LOAD_WORD, CLIENT_LOAD_HEADER, CLIENT_LOAD_PAYLOAD };

#ifdef ODEON_FUZZ
/* of the fuzzer, if it has one */
void fuzz_client_load(enum client_load kind, const volatile void *at) __attribute__((weak));
#define CLIENT_LOAD(kind, at)                                                                      \
    (fuzz_client_load ? fuzz_client_load(CLIENT_LOAD_##kind, (at)) : (void)0)
#else
#define CLIENT_LOAD(kind, at) ((void)0)
#endif
