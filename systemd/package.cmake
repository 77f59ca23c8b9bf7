# SPDX-License-Identifier: Apache-2.0
# Debian packages from any build: odeon (service, library, tool) and libodeon-dev (headers).  `cmake
# --workflow --preset package` makes them from a build of their own; `cpack --config
# BUILD/CPackConfig.cmake` from one that is there.
#
# Files go through DESTDIR with the prefix of packages, so that what names installed paths is made
# for that prefix.
set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The authors of Odeon <odeon@localhost>")
set(CPACK_COMPONENTS_ALL service package dev)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_SERVICE_GROUP odeon)
set(CPACK_COMPONENT_PACKAGE_GROUP odeon) # what is the package's alone: its configuration in /etc
set(CPACK_COMPONENT_DEV_GROUP dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

set(CPACK_DEBIAN_ODEON_PACKAGE_NAME odeon)
set(CPACK_DEBIAN_ODEON_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_ODEON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ODEON_PACKAGE_DEPENDS "systemd (>= 252), init-system-helpers")
set(CPACK_DEBIAN_ODEON_DESCRIPTION "host of actors for other processes
 Odeon runs message handlers, written as small shared objects, on pinned
 worker threads; local processes post to them through shared memory.
 .
 This package has the service, its tool odeonctl, and the library libodeon.")
set(CPACK_DEBIAN_ODEON_PACKAGE_CONTROL_EXTRA
    ${CMAKE_CURRENT_LIST_DIR}/debian/postinst ${CMAKE_CURRENT_LIST_DIR}/debian/prerm
    ${CMAKE_CURRENT_LIST_DIR}/debian/postrm
    ${CMAKE_CURRENT_LIST_DIR}/debian/conffiles ${CMAKE_CURRENT_LIST_DIR}/debian/triggers)
set(CPACK_DEBIAN_ODEON_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libodeon-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "odeon (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_DESCRIPTION "host of actors for other processes - headers
 What is needed to write clients and plugins of Odeon.")

install(FILES ${CMAKE_CURRENT_LIST_DIR}/odeond.conf DESTINATION /etc/odeon COMPONENT package
    EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/odeon
    RENAME copyright COMPONENT package EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION
    ${CMAKE_INSTALL_DATAROOTDIR}/doc/libodeon-dev RENAME copyright COMPONENT dev)
include(CPack)
