# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=odeonctl -DOUTPUT=file -P: what the program prints becomes the file.
execute_process(COMMAND ${PROGRAM} completion bash OUTPUT_FILE ${OUTPUT}.tmp RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} completion bash: ${result}")
endif()
file(RENAME ${OUTPUT}.tmp ${OUTPUT})
