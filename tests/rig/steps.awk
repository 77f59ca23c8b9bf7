# SPDX-License-Identifier: Apache-2.0
# The steps of a document: each `sh` fence goes to DIR/NN.sh, and a fence without a language behind
# it, which is what the step prints, to DIR/NN.out.  awk -v dir=DIR -f steps.awk DOCUMENT
/^```/ && inside { if (inside != "other") close(file); inside = ""; next }
/^```sh$/ { n++; inside = "sh" }
/^```$/ { inside = n ? "out" : "other" }
/^```/ {
    if (!inside) inside = "other"
    file = sprintf("%s/%02d.%s", dir, n, inside)
    if (inside != "other") printf "" >file
    next
}
inside == "sh" || inside == "out" { print >file }
