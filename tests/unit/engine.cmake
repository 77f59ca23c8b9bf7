# SPDX-License-Identifier: Apache-2.0
# Unit tests of daemon/engine, in the test's own process.
