# SPDX-License-Identifier: Apache-2.0
# The commands of a document's `sh` fences, a line each: one that is continued with a backslash is
# put together, lines that are comments are left out.
/^```/ { inside = /^```sh$/ ? 1 : 0; next }
inside && /^ *#/ { next }
inside && /\\$/ { sub(/ *\\$/, ""); sub(/^ +/, ""); held = held $0 " "; next }
inside && NF { sub(/^ +/, ""); print held $0; held = "" }
