# SPDX-License-Identifier: Apache-2.0
# ODEON_SOURCE_DATE, in seconds: the time that files which name one name, so that what is made of
# the same sources is the same on any day.  Who builds a distribution gives it (SOURCE_DATE_EPOCH);
# else it is the commit's; else, without git, that of the changelog's file.
set(ODEON_SOURCE_DATE "$ENV{SOURCE_DATE_EPOCH}")
if(NOT ODEON_SOURCE_DATE MATCHES "^[0-9]+$")
    # -c: the tree may belong to another user than the one who builds.
    execute_process(COMMAND git -c safe.directory=* -C ${PROJECT_SOURCE_DIR} log -1 --format=%ct
        OUTPUT_VARIABLE ODEON_SOURCE_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT ODEON_SOURCE_DATE MATCHES "^[0-9]+$")
    file(TIMESTAMP ${PROJECT_SOURCE_DIR}/CHANGELOG.md ODEON_SOURCE_DATE "%s" UTC)
endif()
