/* SPDX-License-Identifier: Apache-2.0 */
/* The events that have an entry in the message catalogue (systemd/odeon.catalog): one message id
 * each, a field for log_fields() or the event of log_event().
 *
 * An id never changes its meaning and is never used again: programs wait for it (journalctl
 * MESSAGE_ID=...). A new event gets a new id (`systemd-id128 new`), an entry in the catalogue, and
 * a place in the table of docs/operations/logs.md; tests/law/catalogue.sh sees that none is
 * missing, here or there, and that each one is used.
 */
#pragma once

/* clients can connect */
#define CATALOGUE_SERVICE_READY "MESSAGE_ID=ec4b4ccb19b64d4abdff4b0a9c1d63a2"
/* the service has stopped and everything that was sent was received */
#define CATALOGUE_SERVICE_DRAINED "MESSAGE_ID=ef52bc70bc344c3c9ff99c265677ea5b"
/* the service has stopped, and not everything that was sent was received */
#define CATALOGUE_SERVICE_NOT_DRAINED "MESSAGE_ID=af4ec6ee509d4b7781bf273ad0e3aa0c"
/* the service cannot start, or cannot go on */
#define CATALOGUE_SERVICE_FAILED "MESSAGE_ID=21e12cb2532942f49a641be302d4aad2"
/* odeond goes on with what its predecessor has left */
#define CATALOGUE_STATE_RESUMED "MESSAGE_ID=8a6ae596cdc04dacae3f978e5fe0bcc2"
/* what a former service has left cannot be gone on with; it is kept, and nobody is served */
#define CATALOGUE_STATE_REFUSED "MESSAGE_ID=106094d4bddc4f9d976c2a47860f5ded"
/* the configuration was read again and applied */
#define CATALOGUE_RELOAD_APPLIED "MESSAGE_ID=c9bae66845b04e3cb1effb67e70f760e"
/* the configuration was read again and refused: nothing is changed */
#define CATALOGUE_RELOAD_REFUSED "MESSAGE_ID=4e522e269bd849faabfe07ecbaa4a6c5"
/* the executor has died; it is started again */
#define CATALOGUE_EXECUTOR_DIED "MESSAGE_ID=ee0860be07ca431caf5401a9aa1727f9"
/* a rule of the service's own code is broken: its process stops; ODEON_RULE */
#define CATALOGUE_RULE_BROKEN "MESSAGE_ID=a57deaa70c6d4e89bd3ffd51eb16a24a"
/* the executor has stopped itself again and again: no further one is started until told */
#define CATALOGUE_EXECUTOR_HELD "MESSAGE_ID=590cbd1041b442d299fadd70940a3b68"
/* the executor works again */
#define CATALOGUE_EXECUTOR_BACK "MESSAGE_ID=573aa90047ae4086894fc81bf0a8897f"
/* the executor dies again and again: the next start waits */
#define CATALOGUE_EXECUTOR_DELAYED "MESSAGE_ID=d8149b8c778547d9877a77c1cd7d6cda"
/* the watchdog is not fed */
#define CATALOGUE_WATCHDOG_WITHHELD "MESSAGE_ID=ad7436cab8d144129b341632c6e3df17"
/* a handler has crashed; ODEON_PLUGIN, ODEON_ACTOR_TYPE, ODEON_ACTOR, ODEON_MESSAGE */
#define CATALOGUE_HANDLER_CRASHED "MESSAGE_ID=89f55da82a654d8f8c58e2ce42d90f9a"
/* a handler has not returned for long; the same fields, and ODEON_WORKER */
#define CATALOGUE_HANDLER_STALLED "MESSAGE_ID=8ff01ab7b676420b8fc06d2cb744b70e"
/* an actor type is not run any more; ODEON_PLUGIN, ODEON_ACTOR_TYPE */
#define CATALOGUE_TYPE_QUARANTINED "MESSAGE_ID=39379b29280b4f76b3af0921676f9fd0"
/* a message was running at several deaths of the executor that nothing explains; ODEON_PLUGIN,
 * ODEON_ACTOR_TYPE, ODEON_ACTOR, ODEON_MESSAGE */
#define CATALOGUE_MESSAGE_SUSPECTED "MESSAGE_ID=f721fa848e10405a8beb531e3c0ce97f"
/* ODEON_PLUGIN */
#define CATALOGUE_PLUGIN_LOADED "MESSAGE_ID=f5d80b75ceac41ef98b00c994ccc2e38"
/* a plugin file is refused */
#define CATALOGUE_PLUGIN_REFUSED "MESSAGE_ID=0dc2c8e6114a418a88a12c653593f778"
/* an actor that the configuration names cannot be made */
#define CATALOGUE_ACTOR_REFUSED "MESSAGE_ID=13e7f447f7474a4a9c8752bb1ffc1c5a"
/* what a client wrote into its port is no message; ODEON_CLIENT_PID */
#define CATALOGUE_PORT_BROKEN "MESSAGE_ID=2e38d3c4f22a4b87b584438b510a7c68"
/* a client has changed something; ODEON_CLIENT_UID, ODEON_CLIENT_PID, ODEON_CLIENT_UNIT */
#define CATALOGUE_CHANGED "MESSAGE_ID=bba9a27cc09849b19d98bf47b048eda3"
/* a connection is refused; ODEON_CLIENT_PID */
#define CATALOGUE_CLIENT_REFUSED "MESSAGE_ID=fcf90f82631d466595134a3f2c728bc0"
