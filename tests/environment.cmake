# Read by ctest before it runs a test: pelton decodes in every test. Without a GPU it would be
# libavcodec. Tests of libavcodec name it as their device.
set(ENV{PELTON_CONFIG_LIBAVCODEC} false)
