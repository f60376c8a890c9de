/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words of a command line, read by a table of options. The table also makes help, manual page
 * and completion. An option takes one dash or two, and _ or - inside its name. Its value follows
 * after = or as the next word. Words behind -- are no options. Pure. Thread: any.
 */
#ifndef PELTON_OPTION_LINE_H
#define PELTON_OPTION_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One cause, one hint. */
struct option_fault {
    char cause[512], hint[256];
};

/* The text of an option, for messages and parsing. */
struct option_text {
    const char *name;     /* as it is best spelled */
    const char *value;    /* NULL: the option has no argument */
    const char *choices;  /* of its row */
    uint64_t least, most; /* of its place */
    struct option_fault *fault;
};

/* Reads the text into `place`. 0, or -1 with the fault. */
typedef int option_parser(const struct option_text *t, void *place);

/* Where the value of an option goes, and who reads its text. */
struct option_place {
    option_parser *parse;
    size_t offset;        /* in the structure of all values */
    uint64_t least, most; /* of whole numbers; least: also of a choice, or a constant */
};

/* The place of a member. The comparison makes the compiler check the member's type. */
#define OPTION_PLACE(parser, owner, type, member, from, to)                                        \
    {                                                                                              \
        (parser), offsetof(owner, member) + 0 * sizeof((type *)0 == &((owner *)0)->member),        \
            (from), (to)                                                                           \
    }
/* Its parser gets the whole structure. */
#define OPTION_ALL(parser)                                                                         \
    {                                                                                              \
        (parser), 0, 0, 0                                                                          \
    }

struct option_row {
    const char *name;     /* long name; accepted with one dash or two, with _ for - */
    const char *aliases;  /* further names, separated by spaces; NULL: none */
    const char *arg;      /* name of the argument in the help text; NULL: none */
    const char *fallback; /* value without the option; NULL: nothing to say */
    /* words for completion, separated by spaces; "FILE": file names; NULL: none */
    const char *choices;
    unsigned commands;         /* a bit for each command that has it */
    struct option_place place; /* of its value */
    const char *help;          /* NULL: only our programs pass it; help and hints leave it out */
};

/* Whose options, and how mistakes name them. */
struct option_syntax {
    const struct option_row *rows;
    unsigned n_rows, command; /* command: the bit of its rows */
    char program[32];         /* "pelton decode" */
    char help[32];            /* prints the options: "pelton help decode" */
    bool attached;            /* a value may follow a letter at once: -cVALUE */
};

/* Records a fault. Returns -1. */
int option_fail(struct option_fault *fault, const char *hint, const char *cause, ...)
    __attribute__((format(printf, 3, 4)));

/* The best spelling of an option: "-i", "-frames:v", "--pix-fmt". Returns buffer. */
const char *option_spelling(const struct option_row *row, char *buffer, size_t size);
/* The row with this name (length bytes), or NULL. *elsewhere is then the row of another command, or
 * NULL. */
const struct option_row *option_find(const struct option_syntax *s, const char *name, size_t length,
                                     const struct option_row **elsewhere);
/* Records that there is no such option, with the name that was meant. word: as typed, with a name
 * of `length` bytes. Returns -1. */
int option_refuse(const struct option_syntax *s, const char *word, size_t length,
                  struct option_fault *fault);

struct option_reader {
    int argc, at; /* at: the next word */
    char **argv;
    bool words_only;
};

struct option_word {
    const char *word;             /* as typed */
    const char *name;             /* of an option, `length` bytes; NULL: the word is none */
    const struct option_row *row; /* NULL: there is no such option */
    const struct option_row *elsewhere;
    const char *value; /* behind =; NULL: none */
    size_t length;
};

/* The next word. False: that was the last. */
bool option_next(const struct option_syntax *s, struct option_reader *r, struct option_word *out);
/* The value of an option: behind =, else the next word. NULL: there is none. */
const char *option_value(struct option_reader *r, const struct option_word *w);
/* Completes an option that has a row. *value becomes its value, or NULL where it takes none. 0, or
 * -1 with the fault: a value is missing, or is one too many. */
int option_complete(const struct option_syntax *s, struct option_reader *r,
                    const struct option_word *w, const char **value, struct option_fault *fault);
/* Sets the value of an option in the structure at `values`. text: NULL where it takes none. 0, or
 * -1 with the fault. */
int option_store(const struct option_row *row, const char *text, void *values,
                 struct option_fault *fault);

#endif
