# Makes a C file with the bytes of a page:  cmake -DIN=index.html -DOUT=page_html.c -P THIS
file(READ "${IN}" bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUT}" "extern const char page_html[];\nextern const unsigned page_html_size;\n"
    "const char page_html[] = {${bytes}};\nconst unsigned page_html_size = ${size};\n")
