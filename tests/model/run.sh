#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh - checks the models in this folder with Spin, row by row, against what each row is expected
# to give.
#
# usage: run.sh [--quick|--full] [-j N] [-m MODEL]
#   --quick   (default) every model exhaustively at its smaller sizes, and every mutant
#   --full    the long rows too
#   -j N      rows at a time (default: as many as there are processors, and memory for: a quick row
#             may take 3 GB, a long one 7); rows marked "alone" run by themselves
#   -m MODEL  only rows of this model, e.g. -m commit
#
# A row that must hold counts only if the whole state space was searched: no error, no limit of
# depth, memory or processor time reached. A row that must fail counts only if Spin reports a
# violated assertion, an invalid end state or a non-progress cycle.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2

# expect: holds | breaks   search: safety | idle (non-progress cycles)   when: quick | full | alone
# (full, nothing beside it)
rows() {
  cat <<'ROWS'
holds  safety quick gulp_steal_park -DN=2
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DVISIT
holds  safety quick gulp_steal_park -DN=1 -DF=2 -DSTUCK=1
holds  safety quick gulp_steal_park -DN=2 -DW=3 -DQ=3 -DHUNG -DSTUCK=1
holds  idle   quick gulp_steal_park -DN=1 -DSTUCK=1 -DIDLE
holds  idle   full  gulp_steal_park -DN=2 -DSTUCK=1 -DIDLE
holds  safety full  gulp_steal_park -DN=2 -DSTUCK=1 -DPASSON -DNOCLEAR
holds  safety full  gulp_steal_park -DN=2 -DSTUCK=1 -DVISIT -DPASSON
holds  safety full  gulp_steal_park -DN=2 -DW=3 -DQ=3 -DHUNG -DSTUCK=1 -DVISIT
holds  safety full  gulp_steal_park -DN=3 -DSTUCK=1
holds  safety full  gulp_steal_park -DN=3 -DSTUCK=1 -DVISIT
holds  safety full  gulp_steal_park -DN=2 -DF=1 -DSTUCK=1
holds  safety full  gulp_steal_park -DN=2 -DF=1 -DW=3 -DQ=3 -DHUNG
holds  safety full  gulp_steal_park -DN=3 -DW=3 -DQ=3 -DHUNG -DSTUCK=1
holds  safety full  gulp_steal_park -DN=1 -DW=3 -DQ=2 -DSTUCK=1
breaks safety quick gulp_steal_park -DN=2 -DFLIP_NOLOCK
breaks safety quick gulp_steal_park -DN=2 -DPUB_OWN
breaks safety quick gulp_steal_park -DN=2 -DBIT_FIRST
breaks safety quick gulp_steal_park -DN=2 -DBIT_WAKE
breaks safety quick gulp_steal_park -DN=2 -DNOTIFY
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DAPP_BUSY
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DCLAIM_FIRST
breaks safety quick gulp_steal_park -DN=2 -DCLEAR_FIRST
breaks safety quick gulp_steal_park -DN=3 -DCLEAR_AFTER
breaks safety quick gulp_steal_park -DN=2 -DSTEAL_RUNNING
breaks safety quick gulp_steal_park -DN=2 -DLAZY_STEAL
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DBUSY_ORDER
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSEARCH_ORDER
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DRUN_LOOK
breaks safety quick gulp_steal_park -DN=2 -DW=3 -DQ=3 -DHUNG -DSTUCK=1 -DSEARCH_END
breaks safety quick gulp_steal_park -DN=2 -DF=1 -DSTUCK=1 -DMID_LOOK
breaks safety quick gulp_steal_park -DN=3 -DREL_LOOK
breaks safety quick gulp_steal_park -DN=2 -DPARK_BIT
breaks safety quick gulp_steal_park -DN=2 -DFLAG_LOOK
breaks safety quick gulp_steal_park -DN=2 -DPARK_OWN
breaks safety quick gulp_steal_park -DN=3 -DW=3 -DQ=3 -DHUNG -DSTUCK=1 -DPARK_DEBT -DREVERSE
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSEARCH_PARK
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DPARK_BUSY
breaks safety quick gulp_steal_park -DN=2 -DVISIT -DVISIT_RECHECK
breaks safety quick gulp_steal_park -DN=2 -DVISIT -DVISIT_ORDER
breaks idle   quick gulp_steal_park -DN=2 -DSTUCK=1 -DIDLE -DOWN_FILTER
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DNODES=2
holds  safety quick gulp_steal_park -DN=2 -DW=3 -DQ=3 -DHUNG -DSTUCK=1 -DNODES=2
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DMOD=2
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DNODES=2 -DKMOVE
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DNODES=2 -DKMOVE -DVISIT
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSHARE
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSHARE -DVISIT
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSHARE -DPASS_ON
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DSHARE -DFLIP
holds  safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DFIXED=2
holds  safety quick gulp_steal_park -DN=1 -DF=2 -DSTUCK=1 -DFOLLOW=3
holds  idle   quick gulp_steal_park -DN=1 -DSTUCK=1 -DIDLE -DSHARE
holds  idle   quick gulp_steal_park -DN=1 -DSTUCK=1 -DIDLE -DKMOVE -DNODES=2
holds  idle   quick gulp_steal_park -DN=2 -DSTUCK=1 -DIDLE -DFIXED=2
holds  safety full  gulp_steal_park -DN=2 -DSTUCK=1 -DMOD=1
holds  safety full  gulp_steal_park -DN=2 -DW=3 -DQ=3 -DHUNG -DSTUCK=1 -DNODES=2 -DKMOVE
holds  safety full  gulp_steal_park -DN=2 -DW=3 -DQ=3 -DHUNG -DSTUCK=1 -DSHARE
holds  safety full  gulp_steal_park -DN=1 -DF=1 -DW=3 -DQ=3 -DHUNG -DSTUCK=1 -DNODES=2 -DFOLLOW=6
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DNODES=2 -DNODE_COUNT
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DMOD=1 -DTIMEOUT_CLAIM
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DNODES=2 -DKMOVE -DMOVE_BIT
breaks safety quick gulp_steal_park -DN=3 -DNODES=2 -DKMOVE -DMOVE_BACK
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DNODES=2 -DKMOVE -DMOVE_LOOK
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DNODES=2 -DKMOVE -DMOVE_RUNNING
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSHARE -DCMN_PARK
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSHARE -DCMN_BUSY
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSHARE -DCMN_RUN
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DFIXED=2 -DFIXED_STEAL
breaks idle   quick gulp_steal_park -DN=2 -DSTUCK=1 -DIDLE -DFIXED=2 -DFIXED_LOOK
breaks safety quick gulp_steal_park -DN=1 -DF=2 -DSTUCK=1 -DFOLLOW=3 -DFOLLOW_BIT
breaks safety quick gulp_steal_park -DN=1 -DF=2 -DSTUCK=1 -DFOLLOW=3 -DFOLLOW_RUNNING
holds  safety quick gulp_steal_park -DN=1 -DF=1 -DSTUCK=1 -DPACK
holds  safety full  gulp_steal_park -DN=1 -DF=1 -DPACK -DPOLLED
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DPACK -DPACK_WAKE
breaks safety quick gulp_steal_park -DN=1 -DF=2 -DSTUCK=1 -DPACK -DFOLLOW_BIT
breaks safety quick gulp_steal_park -DN=1 -DF=2 -DPACK -DFOLLOW_RUNNING
holds  safety quick gulp_steal_park -DN=2 -DPOLLED
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DVISIT -DPOLLED
holds  safety quick gulp_steal_park -DN=1 -DF=1 -DSTUCK=1 -DPOLLED
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DNODES=2 -DKMOVE -DPOLLED
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DSHARE -DPOLLED
holds  safety quick gulp_steal_park -DN=1 -DF=1 -DSTUCK=1 -DFOLLOW=3 -DPOLLED
holds  idle   quick gulp_steal_park -DN=1 -DSTUCK=1 -DIDLE -DPOLLED
holds  safety full  gulp_steal_park -DN=2 -DSTUCK=1 -DPOLLED
breaks safety quick gulp_steal_park -DN=2 -DPOLLED -DPOLL_FENCE
breaks safety quick gulp_steal_park -DN=2 -DPOLLED -DPOLL_FORGET
breaks safety quick gulp_steal_park -DN=2 -DPOLLED -DPOLL_BLIND
breaks safety quick gulp_steal_park -DN=2 -DPOLLED -DPOLL_PARK
breaks safety quick gulp_steal_park -DN=3 -DSTUCK=1 -DPOLLED -DPOLL_RUN -DREVERSE
breaks safety quick gulp_steal_park -DN=3 -DSTUCK=1 -DPOLLED -DPOLL_LATE -DREVERSE
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DSUMMARY
holds  safety full  gulp_steal_park -DN=2 -DSTUCK=1 -DSUMMARY
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DVISIT -DSUMMARY
holds  safety quick gulp_steal_park -DN=1 -DF=1 -DSTUCK=1 -DSUMMARY
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DNODES=2 -DKMOVE -DSUMMARY
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DSHARE -DSUMMARY
holds  safety quick gulp_steal_park -DN=1 -DSTUCK=1 -DPOLLED -DSUMMARY
holds  idle   quick gulp_steal_park -DN=1 -DSTUCK=1 -DIDLE -DSUMMARY
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSUMMARY -DSUM_SET -DREVERSE
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSUMMARY -DSUM_LATE -DREVERSE
breaks safety quick gulp_steal_park -DN=2 -DSTUCK=1 -DSUMMARY -DSUM_FORGET -DREVERSE
holds  safety quick port_source -DN=1
holds  safety quick port_source -DN=2 -DJ=0
holds  safety full  port_source -DN=1 -DFIRE=1
breaks safety quick port_source -DN=1 -DBELL_ORDER
breaks safety quick port_source -DN=1 -DCOLD_LOOK
breaks safety quick port_source -DN=1 -DCOLD_ORDER
breaks safety quick port_source -DN=2 -DJ=0 -DTHIEF_HOT
breaks safety quick port_source -DN=1 -DSLEEP_COLD
breaks safety quick port_source -DN=1 -DARM_SLEEP
breaks safety quick port_source -DN=1 -DARM_RUN
breaks safety quick port_source -DN=1 -DRESCUE
holds  safety quick reconfigure -DN=1
holds  safety quick reconfigure -DN=1 -DSTUCK=1
holds  safety quick reconfigure -DN=0 -DROUNDS=2 -DEARLY=1
breaks safety quick reconfigure -DN=1 -DPARK_PAUSE
breaks safety quick reconfigure -DN=1 -DWAKE_PARKED
breaks safety quick reconfigure -DN=1 -DWAKE_UNCLAIMED
breaks safety quick reconfigure -DN=1 -DNEW_EARLY
breaks safety quick reconfigure -DN=1 -DSTUCK=1 -DNEW_LOOKS
breaks safety quick reconfigure -DN=0 -DROUNDS=2 -DEARLY=1 -DSTALE_JOIN
breaks safety quick reconfigure -DN=1 -DMOVE_RUNNING
breaks safety quick reconfigure -DN=1 -DRESET_SEARCH
breaks safety quick reconfigure -DN=1 -DSCAN_ORDER
breaks safety quick reconfigure -DN=1 -DSCAN_ALL
breaks safety quick reconfigure -DN=1 -DCLEAR_AFTER
breaks safety quick reconfigure -DN=1 -DPUB_OWN
holds  safety quick commit -DCR=1 -DN=1
holds  safety quick commit -DCR=2 -DN=1
holds  safety quick commit -DCR=0 -DN=2
holds  safety quick commit -DCR=1 -DN=1 -DCFG=1
holds  safety quick commit -DCR=1 -DN=1 -DCFG=2
holds  safety full  commit -DCR=1 -DN=2
holds  safety alone commit -DCR=1 -DN=2 -DCFG=1
breaks safety quick commit -DCR=1 -DN=1 -DJ_AFTER
breaks safety quick commit -DCR=1 -DN=1 -DJ_TORN
breaks safety quick commit -DCR=1 -DN=1 -DJ_NOTAG
breaks safety quick commit -DCR=1 -DN=1 -DJ_BEFORECOPY
breaks safety quick commit -DCR=1 -DN=1 -DJ_DISARM
breaks safety quick commit -DCR=1 -DN=1 -DOUT_REUSE
breaks safety quick commit -DCR=1 -DN=1 -DDEST_LATE
breaks safety quick commit -DCR=1 -DN=1 -DFLIP_NOLOCK
breaks safety quick commit -DCR=1 -DN=1 -DTWO_WORDS
breaks safety quick commit -DCR=1 -DN=1 -DCUR_FIRST
breaks safety quick commit -DCR=1 -DN=1 -DUNDO_LATE
breaks safety quick commit -DCR=1 -DN=1 -DUNDO_NOCHECK
breaks safety quick commit -DCR=1 -DN=1 -DUNDO_CURTAG
breaks safety quick commit -DCR=1 -DN=1 -DREDO_BLIND
breaks safety quick commit -DCR=1 -DN=1 -DSLOT_NOTAG
breaks safety quick commit -DCR=1 -DN=2 -DTAIL_RESUMED
breaks safety quick commit -DCR=1 -DN=2 -DTAIL_REOPEN
breaks safety quick commit -DCR=1 -DN=2 -DTAIL_FORGOT
breaks safety quick commit -DCR=1 -DN=2 -DTAIL_CRASH
breaks safety quick commit -DCR=1 -DN=2 -DREL_FLUSH
breaks safety quick commit -DCR=1 -DN=1 -DDETACH_FIRST
breaks safety quick commit -DCR=1 -DN=1 -DOWN_EARLY
breaks safety quick commit -DCR=1 -DN=1 -DLEN_LATE
breaks safety quick commit -DCR=1 -DN=1 -DSTEAL_RUNNING
breaks safety quick commit -DCR=1 -DN=1 -DR_LOCKFIRST
breaks safety quick commit -DCR=1 -DN=1 -DR_ONEPASS
breaks safety quick commit -DCR=1 -DN=1 -DR_LENCMP
breaks safety quick commit -DCR=1 -DN=1 -DR_NOLOCK
breaks safety quick commit -DCR=1 -DN=1 -DR_FLIPEARLY
holds  safety quick commit_port -DCR=1 -DN=2
holds  safety full  commit_port -DCR=2 -DN=2
holds  safety full  commit_port -DCR=1 -DN=3
breaks safety quick commit_port -DCR=1 -DN=2 -DDIRECT_OUTBOX
breaks safety quick commit_port -DCR=1 -DN=2 -DDIRECT_NONEMPTY
breaks safety quick commit_port -DCR=1 -DN=1 -DDIRECT_EARLY
breaks safety quick commit_port -DCR=1 -DN=1 -DDIRECT_LATE
breaks safety quick commit_port -DCR=1 -DN=2 -DDIRECT_PCUR
breaks safety quick commit_port -DCR=1 -DN=1 -DDIRECT_NOBATCH
breaks safety quick commit_port -DCR=1 -DN=1 -DHEAD_EARLY
breaks safety quick commit_port -DCR=1 -DN=1 -DR_NOVTAIL
breaks safety quick commit_port -DCR=1 -DN=1 -DR_NOHEAD
holds  safety quick durable -DCR=2 -DN=2
holds  safety quick durable -DCR=2 -DN=3
breaks safety quick durable -DCR=2 -DN=2 -DUNDO_LATE
breaks safety quick durable -DCR=2 -DN=2 -DUNDO_TAGFIRST
breaks safety quick durable -DCR=2 -DN=2 -DUNDO_NOCHECK
breaks safety quick durable -DCR=2 -DN=2 -DUNDO_NOHEAD
breaks safety quick durable -DCR=2 -DN=2 -DUNDO_AFTER
breaks safety quick durable -DCR=2 -DN=2 -DFILL_VALID
breaks safety quick durable -DCR=2 -DN=2 -DFILL_NOVOID
breaks safety quick durable -DCR=2 -DN=2 -DTWO_WORDS
holds  safety quick timer
holds  safety quick timer -DK=3
holds  safety quick ask
holds  safety quick ask -DK=3
breaks safety quick ask -DASK_TWICE
breaks safety quick ask -DASK_VOID
breaks safety quick ask -DASK_EARLY
holds  safety quick shelf -DK=3
breaks safety quick shelf -DSHELF_BLIND
breaks safety quick shelf -DSHELF_SOON
breaks safety quick shelf -DSHELF_DEAF
breaks safety quick timer -DTIMER_NOTAG
breaks safety quick timer -DTIMER_LATE
breaks safety quick timer -DTIMER_CLAIM
breaks safety quick timer -DTIMER_VOID
breaks safety quick timer -DTIMER_EARLY
breaks safety quick timer -DTIMER_NOREDO
breaks safety quick timer -DTIMER_OPEN
breaks safety quick timer -DPOST_EARLY
holds  safety quick watch
holds  safety quick watch -DK=3
breaks safety quick watch -DWATCH_FENCE
breaks safety quick watch -DWATCH_NEW
breaks safety quick watch -DWATCH_EARLY
breaks safety quick watch -DWATCH_SLOT
breaks safety quick watch -DWATCH_STAMP
breaks safety quick watch -DWATCH_FLUSH
breaks safety quick watch -DWATCH_NOLOOK
holds  safety quick port_watch
holds  safety quick port_watch -DK=3
breaks safety quick port_watch -DMONITOR_EARLY
breaks safety quick port_watch -DGIVE_EARLY
breaks safety quick port_watch -DGIVE_LATE
breaks safety quick port_watch -DGIVE_VOID
breaks safety quick port_watch -DGIVE_OPEN
holds  safety quick name
holds  safety quick name -DK=3
breaks safety quick name -DNAME_OPEN
breaks safety quick name -DNAME_APART
breaks safety quick name -DNAME_LATE
holds  safety quick group -DK=1
holds  safety full  group -DK=2
breaks safety quick group -DGROUP_TWO_FLIPS
breaks safety quick group -DGROUP_COUNTED
breaks safety quick group -DGROUP_UNTIL
breaks safety quick group -DGROUP_PACKED
breaks safety quick group -DMEMBER_OPEN
breaks safety quick group -DMEMBER_SEQUENCE
breaks safety quick group -DGROUP_REJOIN
holds  safety quick kept
holds  safety quick kept -DN=2 -DK=2
breaks safety quick kept -DKEPT_PAST
breaks safety quick kept -DKEPT_UNFLUSHED
breaks safety quick kept -DKEPT_OTHERS
breaks safety quick kept -DKEPT_ORDER
holds  safety quick phase
holds  safety quick phase -DK=3
breaks safety quick phase -DPHASE_TORN
breaks safety quick phase -DPHASE_EARLY
breaks safety quick phase -DPHASE_TWICE
breaks safety quick phase -DPHASE_NOTAG
breaks safety quick phase -DPHASE_LATE
holds  safety quick stash
holds  safety quick stash -DK=3
breaks safety quick stash -DSTASH_OPEN
breaks safety quick stash -DSTASH_BOTH
breaks safety quick stash -DSTASH_END
breaks safety quick stash -DSTASH_VOID
breaks safety quick stash -DSTASH_LATE
holds  safety quick suspect
holds  safety quick suspect -DN=5 -DK=2 -DE=2
breaks safety quick suspect -DSUS_TWICE
breaks safety quick suspect -DSUS_TAGFIRST
breaks safety quick suspect -DSUS_VERDICT
breaks safety quick suspect -DSUS_EXPLAINED
breaks safety quick suspect -DSUS_WAITS
breaks safety quick suspect -DSUS_BOTH
holds  safety quick drop_oldest -DCR=2
holds  safety quick drop_oldest -DCR=2 -DKEEP=0
holds  safety quick drop_oldest -DCR=2 -DKEEP=1
holds  safety quick drop_oldest -DCR=2 -DDROP_LATE
breaks safety quick drop_oldest -DCR=2 -DDROP_RUN
breaks safety quick drop_oldest -DCR=2 -DDROP_COUNT
breaks safety quick drop_oldest -DCR=2 -DDROP_BACK
breaks safety quick drop_oldest -DCR=2 -DDROP_NEW
breaks safety quick drop_oldest -DCR=2 -DDROP_CUR
holds  safety quick exchange -DFIRST -DQUIET
holds  safety quick exchange -DCR=0
holds  safety quick exchange -DCR=0 -DN=4 -DQUIET
holds  safety quick exchange -DN=1
holds  safety quick exchange -DLATER -DN=3
holds  safety full  exchange -DQUIET
holds  safety full  exchange -DFIRST
holds  safety full  exchange
breaks safety quick exchange -DASIDE_TAIL
breaks safety quick exchange -DASIDE_UNFLUSHED
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_WORDS_FIRST
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_NO_REDO
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_NO_SECOND
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_OWN_EARLY
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_COPY_LATE
breaks safety quick exchange -DCR=0 -DN=3 -DQUIET -DASIDE_BUSY
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_STALE
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_HERE
breaks safety quick exchange -DCR=0 -DN=3 -DFIRST -DQUIET -DBACK_SENT
breaks safety quick exchange -DFIRST -DQUIET -DBACK_RUNNING
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_TWO
breaks safety quick exchange -DCR=0 -DN=4 -DQUIET -DBACK_HELD
breaks safety quick exchange -DFIRST -DQUIET -DASIDE_FORGOT
breaks safety quick exchange -DFIRST -DQUIET -DPP_EMPTY_FIRST
breaks safety quick exchange -DFIRST -DQUIET -DPP_IN_PLACE
breaks safety quick exchange -DFIRST -DQUIET -DPP_NO_REDO
breaks safety quick exchange -DLATER -DN=3 -DPP_REDO_LATE -DREVERSE
breaks safety quick exchange -DFIRST -DQUIET -DPP_ONE
breaks safety quick exchange -DFIRST -DQUIET -DPP_TURN
holds  safety quick giveaway -DN=0
holds  safety quick giveaway -DN=2 -DHANGS
holds  safety quick giveaway -DN=1 -DHANGS -DVISIT
holds  safety quick giveaway -DN=1 -DHANGS -DBOTH -DPORT
holds  idle   quick giveaway -DN=1 -DHANGS -DENDLESS
breaks safety quick giveaway -DN=1 -DHANGS -DGIVE_FIRST
breaks safety quick giveaway -DN=1 -DHANGS -DSTALE -DGIVE_FENCE
breaks safety quick giveaway -DN=1 -DHANGS -DGIVE_SILENT
breaks safety quick giveaway -DN=0 -DGIVE_RUNNING
breaks safety quick giveaway -DN=1 -DHANGS -DVISIT -DAWAY_HOME
breaks safety quick giveaway -DN=1 -DHANGS -DVISIT -DAWAY_LOOK
breaks safety quick giveaway -DN=1 -DHANGS -DBOTH -DPORT -DGIVE_DEAF
breaks idle   quick giveaway -DN=1 -DHANGS -DENDLESS -DGIVE_NOT
holds  safety quick letters -DCR=2
breaks safety quick letters -DCR=2 -DLT_NOLOCK
breaks safety quick letters -DCR=2 -DLT_SEL_FIRST
breaks safety quick letters -DCR=2 -DLT_TWO_FLIPS
breaks safety quick letters -DCR=2 -DLT_LEN_LATE
breaks safety quick letters -DCR=2 -DLT_GIVE_EARLY
breaks safety quick letters -DCR=2 -DLT_SEL_LATE
breaks safety quick letters -DCR=2 -DLT_NO_REDO
breaks safety quick letters -DCR=2 -DLT_REDO_LATE
breaks safety quick letters -DCR=2 -DID_LATE
holds  safety quick registry -DC=2 -DCR=2
holds  safety quick registry -DC=2 -DCR=2 -DREG_OPENING
holds  safety full  registry -DC=3 -DCR=3
breaks safety quick registry -DC=2 -DCR=2 -DREG_BARRIER
breaks safety quick registry -DC=2 -DCR=2 -DREG_HANDOUT
breaks safety quick registry -DC=2 -DCR=2 -DREG_FREE
breaks safety quick registry -DC=2 -DCR=2 -DREG_REUSE
breaks safety quick registry -DC=2 -DCR=2 -DREG_ORPHAN
breaks safety quick registry -DC=2 -DCR=2 -DREG_CLAIM
breaks safety quick registry -DC=2 -DCR=2 -DREAP_FORGETS
holds  safety quick hold -DK=3
holds  safety full  hold -DK=6
breaks safety quick hold -DHOLD_TAKE
breaks safety quick hold -DHOLD_LEAVE
breaks safety quick hold -DHOLD_STAY
breaks safety quick hold -DHOLD_BARE
holds  safety quick stall -DP=2 -DR=2
holds  safety quick stall -DP=3 -DR=1
holds  safety full  stall -DP=2 -DR=4 -DD=2
breaks safety quick stall -DP=2 -DR=2 -DSTALL_RECHECK
breaks safety quick stall -DP=2 -DR=2 -DSTALL_FENCE
breaks safety quick stall -DP=2 -DR=2 -DSTALL_FLAG
breaks safety quick stall -DP=2 -DR=2 -DSTALL_GULP
breaks safety quick stall -DP=2 -DR=2 -DSTALL_TAKE
breaks safety quick stall -DP=2 -DR=2 -DSTALL_BIT
holds  safety quick rate -DN=3 -DU=2 -DD=1
holds  safety quick rate -DN=4 -DU=4 -DD=2
breaks safety quick rate -DSPENT_RECHECK
breaks safety quick rate -DSPENT_FENCE
breaks safety quick rate -DSPENT_ORDER
breaks safety quick rate -DSPENT_SILENT
holds  safety quick room
holds  safety quick room -DPIPE
breaks safety quick room -DR5_RING
breaks safety quick room -DR5_BYTES
breaks safety quick room -DR5_ONLY
breaks safety quick room -DR5_VISIT
breaks safety quick room -DR5_ORDER
breaks safety quick room -DPIPE -DR5_ORDER
breaks safety quick room -DPIPE -DR5_DRAIN
holds  safety quick reap -DW=1 -DL=5 -DD=2
holds  safety quick reap -DW=2 -DL=1 -DD=1
holds  safety full  reap -DW=2 -DL=2 -DD=1
breaks safety quick reap -DREAP_EARLY
breaks safety quick reap -DREAP_FENCE
breaks safety quick reap -DREAP_JOIN
breaks safety quick reap -DREAP_COUNT
breaks safety quick reap -DREAP_LOOK
breaks safety quick reap -DREAP_HANG
holds  safety quick backlog
holds  safety quick backlog -DK=2 -DN=3
holds  safety quick backlog -DA=3
holds  safety quick backlog -DOLDEST
breaks safety quick backlog -DBL_EARLY
breaks safety quick backlog -DBL_LOOK
breaks safety quick backlog -DBL_HEAD
breaks safety quick backlog -DOLDEST -DBL_LEAVE
holds  safety quick urgent -DA=2 -DU=1 -DO=1
holds  safety quick urgent -DA=1 -DU=2 -DO=2
holds  safety quick urgent -DA=1 -DU=2 -DO=2 -DCLEAR_LATE
holds  safety full  urgent -DA=2 -DU=1 -DO=2
holds  safety full  urgent -DA=1 -DU=2 -DO=3 -DL=4
breaks safety quick urgent -DA=1 -DURGENT_LATE
breaks safety quick urgent -DA=1 -DU=3 -DO=1 -DURGENT_FORGOT
breaks safety quick urgent -DA=1 -DL=1 -DURGENT_PARK
breaks safety quick urgent -DA=1 -DO=3 -DL=4 -DURGENT_DEAF
holds  safety quick lock
holds  safety quick lock -DN=2 -DROUNDS=3
breaks safety quick lock -DLOCK_TRY
breaks safety quick lock -DLOCK_ALONE
breaks safety quick lock -DLOCK_DEAF
holds  safety quick owed
breaks safety quick owed -DOWED_LOOK
breaks safety quick owed -DOWED_FENCE
breaks safety quick owed -DOWED_NOTE
breaks safety quick owed -DOWED_EARLY
breaks safety quick owed -DOWED_ORDER
holds  safety quick ready -DN=2
holds  safety quick ready -DN=2 -DNOFWD -DNORECHK
holds  safety quick ready -DN=2 -DEDGE
holds  safety full  ready -DN=3
holds  safety full  ready -DN=3 -DEDGE
breaks safety quick ready -DN=2 -DEDGE -DNORECHK
breaks safety quick ready -DN=2 -DSTEALRUN
breaks safety quick ready -DN=2 -DLAZYSTEAL -DNOFWD
breaks safety quick ready -DN=2 -DEARLYREAD -DNOFWD
holds  safety quick sleep -DV=2 -DN=2
holds  safety full  sleep -DV=2 -DN=3
holds  safety full  sleep -DV=2 -DW=3 -DN=1 -DKS=1
holds  safety full  sleep -DV=3 -DN=2
breaks safety quick sleep -DV=0 -DN=2
breaks safety quick sleep -DV=1 -DN=2
holds  safety quick swap_perm -DW=2 -DR=2 -DK=2
holds  safety quick swap_perm -DW=2 -DR=2 -DK=1 -DKILL -DSCAV
holds  safety quick swap_perm -DW=3 -DR=1 -DK=1 -DKILL -DSCAV
breaks safety quick swap_perm -DW=2 -DR=2 -DK=1 -DKILL
ROWS
}

usage() { sed -n '5,10s/^# \{0,1\}//p' "$0"; }
level=quick jobs='' only=''
while [ $# -gt 0 ]; do
  case $1 in
    --quick) level=quick ;;
    --full) level=full ;;
    -j) jobs=${2-}; shift ;;
    -j*) jobs=${1#-j} ;;
    -m) only=${2-}; shift; only=${only%.pml} ;;
    -h|--help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done

# default_jobs: as many rows at a time as processors and memory allow.
default_jobs() {
  local kib each=3 n
  [ $level = quick ] || each=7
  kib=$(sed -nE 's/^MemAvailable: *([0-9]+) kB$/\1/p' /proc/meminfo)
  n=$((${kib:-0} / (each * 1000 * 1000)))
  [ $n -le "$(nproc)" ] || n=$(nproc)
  [ $n -ge 1 ] || n=1
  echo $n
}
jobs=${jobs:-$(default_jobs)}
[[ $jobs =~ ^[1-9][0-9]*$ ]] || { usage >&2; exit 2; }
for tool in spin gcc; do
  command -v "$tool" >/dev/null || {
    echo "model: skipped: $tool not found (Debian packages: spin gcc)"
    exit 77
  }
done

work=$(mktemp -d) || exit 2
stop() { # shellcheck disable=SC2046 # one word per process
  kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"; }
trap stop EXIT
trap 'exit 130' INT TERM

# explore OPTIMISATION SECONDS: builds row's model and searches it for so long, of processor time,
# and so the same on a machine that does other things, too. False, and row's `why` says it: it did
# not build, or come to its end.
explore() {
  why='' && : >out
  gcc -w "$1" "${cc[@]}" -DCOLLAPSE -DMEMLIM=$mem -o pan pan.c >>log 2>&1 ||
    { why='does not build'; return 1; }
  (ulimit -S -t "$2" && exec ./pan "${arg[@]}") >out 2>&1 &
  pid=$!
  wait "$pid"
  [ $? != $((128 + 24)) ] || { why="stopped after $2 s of processor time"; return 1; } # SIGXCPU
}

# row NUMBER EXPECT SEARCH WHEN MODEL ARGS...: one row, in a folder and a process of its own
row() {
  local n=$1 expect=$2 search=$3 when=$4 model=$5 dir=$work/$1 mem limit=600
  local why='' pid='' states start=$SECONDS cc=() arg=(-m1000000)
  shift 5
  case $when in quick) mem=3000 ;; full) mem=7000 limit=1800 ;; *) mem=13000 limit=3600 ;; esac
  if [ "$search" = idle ]; then cc+=(-DNP) arg+=(-l); else cc+=(-DSAFETY); fi
  # pan tries the transitions in the other order
  [[ " $* " = *" -DREVERSE "* ]] && cc+=(-DREVERSE)
  mkdir "$dir" && cp "$here/$model.pml" "$dir" && cd "$dir" || exit 1
  trap '[ -n "$pid" ] && kill "$pid" 2>/dev/null; exit 1' TERM
  # Most mutants fall within a second, which a compiler that optimises takes longer than.
  if ! spin -a "$@" "$model.pml" >log 2>&1; then why='does not build' && : >out
  elif [ "$expect" = holds ] || ! explore -O0 2; then explore -O1 "$limit"; fi
  states=$(sed -nE 's/^ *([0-9.e+]+) states, stored.*/\1/p' out)
  if [ -z "$why" ] && [ "$expect" = holds ]; then
    if grep -q 'max search depth too small' out; then why='depth limit reached'
    elif grep -qE 'out of memory|memory exhausted|reached -DMEMLIM' out; then
      why="memory limit of $mem MB reached"
    elif ! grep -q 'errors: 0$' out; then why=$(grep -m1 '^pan:1' out); why=${why:-no result}
    elif grep -qi 'search not completed' out || ! grep -q '^Full statespace search' out; then
      why='search not exhaustive'
    elif [ -z "$states" ]; then why='no result'; fi
  elif [ -z "$why" ]; then
    grep -q 'errors: [1-9]' out &&
      grep -qE '^pan:1: (assertion violated|invalid end state|non-progress cycle)' out ||
      why='should fail but does not'
  fi
  local note="${states:-0} states, $((SECONDS - start)) s"
  [ "$expect" = breaks ] && note="must fail; $note"
  if [ -z "$why" ]; then
    printf 'ok %s - %s %s (%s)\n' "$n" "$model" "$*" "$note"
    touch "$work/$n.ok"
  else
    printf 'not ok %s - %s %s (%s): %s\n' "$n" "$model" "$*" "$note" "$why"
    [ "$why" = 'does not build' ] && sed 's/^/# /' log | head -20
  fi
  cd / && rm -rf "$dir"
}

start() { # starts a row; waits while as many run as may
  while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done
  shift
  row "$@" &
}
total=0
list() { rows | while read -r expect search when model args; do
  [ -n "$only" ] && [ "$only" != "$model" ] && continue
  [ "$when" = quick ] || [ "$level" = full ] || continue
  printf '%s %s %s %s %s\n' "$expect" "$search" "$when" "$model" "$args"; done; }
mapfile -t todo < <(list)
[ ${#todo[@]} -gt 0 ] || { echo "model: no rows for '$only'" >&2; exit 2; }
echo "1..${#todo[@]}"
for pass in alone beside; do
  [ $pass = beside ] && wait
  n=0
  for line in "${todo[@]}"; do
    n=$((n + 1))
    read -r -a field <<<"$line"
    case $pass:${field[2]} in
      alone:alone) start 1 "$n" "${field[@]}" ;;
      alone:*|beside:alone) continue ;;
      *) start "$jobs" "$n" "${field[@]}" ;;
    esac
    total=$((total + 1))
  done
done
wait
passed=$(find "$work" -maxdepth 1 -name '*.ok' | wc -l)
echo "model: $passed passed, $((total - passed)) failed"
[ "$passed" = "$total" ]
