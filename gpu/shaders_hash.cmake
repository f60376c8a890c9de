# Writes a header with SHADERS_HASH, a hash of all compiled shaders of a build. Run with
# -DOUT=FILE -DLIST=FILE: LIST has the paths of the shaders, a line each.
file(STRINGS ${LIST} shaders)
set(all "")
foreach(shader ${shaders})
    file(SHA256 ${shader} one)
    string(APPEND all ${one})
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUT} "#define SHADERS_HASH 0x${hash}u\n")
