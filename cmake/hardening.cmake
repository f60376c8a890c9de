# What makes an exploit of our own bugs harder. scripts/check-hardening looks for it in programs and
# libraries. Sanitizers bring checks of their own, which _FORTIFY_SOURCE would hide.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
add_compile_options(-fstack-protector-strong)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# An attacker cannot jump or return to any place: CET of x86, BTI and PAC of ARM. Clang warns of the
# other processor's, no more.
set(CMAKE_REQUIRED_FLAGS -Werror)
foreach(flag -fcf-protection=full -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "PELTON_TAKES${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
        add_compile_options(${flag})
    endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)

# Level 3 needs __builtin_dynamic_object_size. Without optimisation glibc warns.
if(NOT PELTON_SANITIZE AND NOT PELTON_FUZZ AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(level 2)
    if((CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
        OR (CMAKE_C_COMPILER_ID MATCHES Clang AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 9))
        set(level 3)
    endif()
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level})
endif()
