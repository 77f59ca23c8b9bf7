# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=file.c -DFOLDER=page -P: the page's files as arrays of bytes.
set(text "/* Made by embed.cmake. */\n#include <stddef.h>\n")
foreach(kind html css js)
    file(READ ${FOLDER}/page.${kind} bytes HEX)
    string(LENGTH "${bytes}" size)
    math(EXPR size "${size} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "extern const unsigned char page_${kind}[];\n"
        "extern const size_t page_${kind}_size;\n"
        "const unsigned char page_${kind}[] = { ${bytes} };\n"
        "const size_t page_${kind}_size = ${size};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
