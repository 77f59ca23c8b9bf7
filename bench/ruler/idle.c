/* SPDX-License-Identifier: Apache-2.0 */
/* odeon-idle: clients that are connected, have a port each, and do nothing: odeon-idle SOCKET
 * CLIENTS SECONDS
 *
 * Prints "ready" when all are connected and their ports are mapped. At the end each port must still
 * be open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <odeon/client.h>

enum { CLIENTS_MAX = 256 };

static long idle_parse_number(const char *text, long most)
{
    char *end = NULL;
    long value = strtol(text, &end, 10);
    return end == text || *end != '\0' || value < 1 || value > most ? -1 : value;
}

int main(int argc, char **argv)
{
    static struct odeon_client *clients[CLIENTS_MAX];
    static struct odeon_port *ports[CLIENTS_MAX];
    long n = argc == 4 ? idle_parse_number(argv[2], CLIENTS_MAX) : -1,
         seconds = argc == 4 ? idle_parse_number(argv[3], 3600) : -1;
    int code = 0;
    if (n < 0 || seconds < 0) {
        fputs("usage: odeon-idle SOCKET CLIENTS SECONDS\n", stderr);
        return 2;
    }
    for (long i = 0; i < n && code == 0; i++)
        if (odeon_client_connect(argv[1], "odeon-idle", &clients[i]) < 0 ||
            odeon_port_open(clients[i], NULL, &ports[i]) < 0)
            code = 1;
    if (code == 0) {
        puts("ready");
        fflush(stdout);
        nanosleep(&(struct timespec){ .tv_sec = seconds }, NULL);
    }
    for (long i = 0; i < n && code == 0; i++)
        if (odeon_port_check(ports[i]) < 0)
            code = 1;
    if (code != 0)
        fprintf(stderr, "odeon-idle: %s\n", odeon_error_text());
    for (long i = 0; i < n; i++)
        odeon_client_disconnect(clients[i]);
    return code;
}
