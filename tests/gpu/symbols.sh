#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# peltond has neither the bench nor the slow reference. It has debug shaders only where it was built
# with them.
#   symbols.sh PELTOND WITH_DEBUG_SHADERS
set -u
pattern=' (kernel_|ref_|shader_bench_'
[ "$2" = 1 ] || pattern="$pattern|shader_[a-z0-9_]*_debug\$|gpu_debug_shaders\$"
nm "$1" >/dev/null || exit 1
found=$(nm "$1" | grep -E "$pattern)")
[ -z "$found" ] || { echo "$1 has symbols that belong elsewhere:"; echo "$found"; exit 1; }
