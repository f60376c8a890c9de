/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See liar.h.
 */
#include "tests/daemon/broker/liar.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

void liar_start(struct liar *l, void (*serve)(struct raw *r, int arg), int arg)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(l->socket, sizeof(l->socket), "/tmp/pelton-liar-%d.sock", (int)getpid());
    unlink(l->socket);
    strcpy(address.sun_path, l->socket);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
          listen(listener, 4) == 0);
    l->pid = fork();
    if (l->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct raw r = {.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)};
        frame_reader_init(&r.reader);
        serve(&r, arg);
        _exit(0);
    }
    close(listener);
}

void liar_stop(struct liar *l)
{
    kill(l->pid, SIGKILL);
    waitpid(l->pid, NULL, 0);
    unlink(l->socket);
}

void liar_welcome(struct raw *r)
{
    struct frame f;
    Pelton__Welcome m = PELTON__WELCOME__INIT;
    m.proto = 1;
    CHECK_INT(raw_receive(r, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_HELLO);
    raw_send(r, WIRE_WELCOME, 0, 0, &m.base, -1);
}

uint32_t liar_accepts(struct raw *r)
{
    struct frame f;
    Pelton__OpenReply m = PELTON__OPEN_REPLY__INIT;
    Pelton__Info info = PELTON__INFO__INIT;
    liar_welcome(r);
    CHECK_INT(raw_receive(r, WAIT_MS, &f), 1);
    CHECK_INT(f.h.type, WIRE_OPEN);
    frame_close_fds(&f);
    info.supported = true;
    m.info = &info;
    raw_send(r, WIRE_OPEN_REPLY, f.h.request_id, f.h.object_id, &m.base, -1);
    return f.h.object_id;
}

void liar_open(struct liar *l, void (*serve)(struct raw *r, int arg), int arg, struct pelton **conn,
               struct pelton_stream **s)
{
    struct pelton_open_params p = script_params(0, "liar");
    liar_start(l, serve, arg);
    CHECK_INT(pelton_connect(l->socket, WAIT_MS, conn), 0);
    CHECK_INT(pelton_open(*conn, &p, WAIT_MS, NULL, s), 0);
}
