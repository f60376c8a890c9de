/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All keys of the configuration: see settings_list.h. Tables that parse keys hold their meaning;
 * only the keys without a table stand here.
 */
#include "daemon/settings_list.h"

#include "camera/camera_params.h"
#include "daemon/settings_keys.h"
#include "daemon/source_rights.h"
#include "daemon/source_upkeep.h"

static const char *const before[] = {
    "version\tnumber\t\t1\tof the configuration; the first key",
    "listen.unix.path\ttext\t\t\tpath of the socket; --socket and PELTON_SOCKET",
    "listen.unix.mode\tnumber\t0660\t0 to 0777\tpermissions of the socket, octal",
    "listen.unix.group\ttext\t\t\tgroup of the socket; without it the daemon's own",
};
static const char *const of_sources[] = {
    "uri\ttext\t\t\taddress, without user and password",
    "user\ttext\t\t\tnetwork sources: user",
    "password\ttext\t\t\tnetwork sources: password; ${NAME} takes it from the environment",
    "password_file\ttext\t\t\tnetwork sources: a file beside this one whose first line is it",
    "blur\tlist\t\t\t[[x, y, width, height], ...]: rectangles hidden from every reader",
};

void settings_list(FILE *to)
{
    const char *key, *help;
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        fprintf(to, "%s\n", before[i]);
    settings_keys_list(to);
    for (unsigned i = 0; (key = rights_key(i)) != NULL; i++)
        fprintf(to, "rights.%s\tlist\t\t\tof sources without rules of their own\n", key);
    for (size_t i = 0; i < sizeof(of_sources) / sizeof(of_sources[0]); i++)
        fprintf(to, "sources.NAME.%s\n", of_sources[i]);
    for (const struct upkeep_key *k = upkeep_keys; k->name; k++)
        fprintf(to, "sources.NAME.%s\t%s\n", k->name, k->line);
    for (unsigned i = 0; (key = rights_key(i)) != NULL; i++)
        fprintf(to, "sources.NAME.%s\tlist\t\t\twho may %s: names or numbers\n", key,
                key[0] == 'r'   ? "read it"
                : key[0] == 'c' ? "control it"
                                : "have its frames in device memory");
    for (unsigned i = 0; (key = camera_params_key(i, &help)) != NULL; i++)
        fprintf(to, "sources.NAME.%s\tcamera\t\t\t%s\n", key, help);
}
