# Makes a manual page out of Markdown, by lowdown:
#   cmake -DIN=X.md -DOUT=X.8 -DTITLE=X -DSECTION=8 -DVERSION=0.1.0 -DLOWDOWN=lowdown -P THIS
# @KEYS@ becomes the table of keys that PELTOND prints, @OPTIONS@ the help of PROGRAM. NAME, a
# line, takes the place of a document's own title.
file(READ "${IN}" text)

if(DEFINED PELTOND)
    execute_process(COMMAND "${PELTOND}" --list-keys OUTPUT_VARIABLE keys
        COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "<" "\\<" keys "${keys}")
    string(REPLACE "[" "\\[" keys "${keys}")
    # key, kind, preset, range, meaning
    string(REGEX REPLACE "([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)\t([^\n]*)\n"
        "**\\1** (\\2, default \\3, \\4)\n\n: \\5\n\n" keys "${keys}")
    string(REPLACE ", default ," "," keys "${keys}")
    string(REPLACE ", )\n" ")\n" keys "${keys}")
    string(REPLACE "@KEYS@" "${keys}" text "${text}")
endif()
if(DEFINED PROGRAM)
    execute_process(COMMAND "${PROGRAM}" --help OUTPUT_VARIABLE options
        COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE "^[^\n]*\n\n[^\n]*\n" "" options "${options}")
    string(REGEX REPLACE "(^|\n)  " "\\1    " options "${options}")
    string(REPLACE "@OPTIONS@" "${options}" text "${text}")
endif()
if(DEFINED NAME)
    string(REGEX REPLACE "^# [^\n]*\n" "# NAME\n\n${NAME}\n\n# DESCRIPTION\n" text "${text}")
    string(REPLACE "\n## " "\n# " text "${text}")
endif()

file(WRITE "${OUT}.md" "${text}")
string(TIMESTAMP date "%Y-%m-%d" UTC) # of SOURCE_DATE_EPOCH, where it is set
execute_process(COMMAND "${LOWDOWN}" -s -Tman --parse-no-intraemph --out-no-smarty
    -mtitle=${TITLE} -msection=${SECTION} -mdate=${date} "-msource=pelton ${VERSION}"
    -mvolume=pelton "${OUT}.md" OUTPUT_VARIABLE page COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n\\.(SH|SS)[ \n]([^\n]*)\n(\\.LP\n)?" "\n.\\1 \\2\n" page "${page}")
string(REGEX REPLACE "\\\\f(C|\\(CR)" "\\\\fB" page "${page}") # a font that terminals have
string(REPLACE "--" "\\-\\-" page "${page}") # to be copied as typed
file(WRITE "${OUT}" "'\\\" t\n${page}")
