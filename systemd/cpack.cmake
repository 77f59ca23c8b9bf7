# SPDX-License-Identifier: Apache-2.0
# Read by cpack before it makes packages, from whatever build.
include(${CPACK_ODEON_REQUIREMENTS})
odeon_need_packaging()
odeon_refuse_if_needed("No package is made")
# Times in the packages are those of the sources, unless somebody says otherwise.
if(NOT "$ENV{SOURCE_DATE_EPOCH}" MATCHES "^[0-9]+$")
    set(ENV{SOURCE_DATE_EPOCH} ${CPACK_ODEON_SOURCE_DATE})
endif()
# cpack reads names of files in the locale's letters, and a bare machine's locale has ASCII only.
set(ENV{LC_ALL} C.UTF-8)
# cpack would put the project's line in front of each package's own synopsis.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
