# SPDX-License-Identifier: Apache-2.0
# Read by cpack between installing into its folder and packing that: folders are for everybody,
# whatever the umask of whoever makes packages.
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -type d -exec chmod 755 {} +
    COMMAND_ERROR_IS_FATAL ANY)
