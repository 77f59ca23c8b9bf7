/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin `savina`: its types. Each program has a file of its own. */
#include "program.h"

ODEON_DECLARE_TYPE(savina_pingpong);
ODEON_DECLARE_TYPE(pingpong_pong);
ODEON_DECLARE_TYPE(pingpong_ping);
ODEON_DECLARE_TYPE(savina_count);
ODEON_DECLARE_TYPE(count_counter);
ODEON_DECLARE_TYPE(count_producer);
ODEON_DECLARE_TYPE(savina_fjthrput);
ODEON_DECLARE_TYPE(fjthrput_actor);
ODEON_DECLARE_TYPE(savina_fjcreate);
ODEON_DECLARE_TYPE(fjcreate_actor);
ODEON_DECLARE_TYPE(savina_threadring);
ODEON_DECLARE_TYPE(threadring_actor);
ODEON_DECLARE_TYPE(savina_chameneos);
ODEON_DECLARE_TYPE(chameneos_creature);
ODEON_DECLARE_TYPE(chameneos_mall);
ODEON_DECLARE_TYPE(savina_big);
ODEON_DECLARE_TYPE(big_sink);
ODEON_DECLARE_TYPE(big_actor);
ODEON_DECLARE_TYPE(savina_concdict);
ODEON_DECLARE_TYPE(concdict_dictionary);
ODEON_DECLARE_TYPE(concdict_worker);
ODEON_DECLARE_TYPE(concdict_master);
ODEON_DECLARE_TYPE(savina_concsll);
ODEON_DECLARE_TYPE(concsll_list);
ODEON_DECLARE_TYPE(concsll_worker);
ODEON_DECLARE_TYPE(concsll_master);
ODEON_DECLARE_TYPE(savina_bndbuffer);
ODEON_DECLARE_TYPE(bndbuffer_producer);
ODEON_DECLARE_TYPE(bndbuffer_consumer);
ODEON_DECLARE_TYPE(bndbuffer_manager);
ODEON_DECLARE_TYPE(savina_philosopher);
ODEON_DECLARE_TYPE(philosopher_arbiter);
ODEON_DECLARE_TYPE(philosopher_actor);
ODEON_DECLARE_TYPE(savina_barber);
ODEON_DECLARE_TYPE(barber_customer);
ODEON_DECLARE_TYPE(barber_factory);
ODEON_DECLARE_TYPE(barber_chair);
ODEON_DECLARE_TYPE(barber_room);
ODEON_DECLARE_TYPE(savina_cigsmok);
ODEON_DECLARE_TYPE(cigsmok_smoker);
ODEON_DECLARE_TYPE(cigsmok_arbiter);
ODEON_DECLARE_TYPE(savina_logmap);
ODEON_DECLARE_TYPE(logmap_computer);
ODEON_DECLARE_TYPE(logmap_worker);
ODEON_DECLARE_TYPE(logmap_master);
ODEON_DECLARE_TYPE(savina_banking);
ODEON_DECLARE_TYPE(banking_account);
ODEON_DECLARE_TYPE(banking_teller);
ODEON_DECLARE_TYPE(savina_radixsort);
ODEON_DECLARE_TYPE(radixsort_validator);
ODEON_DECLARE_TYPE(radixsort_sorter);
ODEON_DECLARE_TYPE(radixsort_source);
ODEON_DECLARE_TYPE(savina_filterbank);
ODEON_DECLARE_TYPE(filterbank_producer);
ODEON_DECLARE_TYPE(filterbank_source);
ODEON_DECLARE_TYPE(filterbank_branches);
ODEON_DECLARE_TYPE(filterbank_stage);
ODEON_DECLARE_TYPE(filterbank_integrator);
ODEON_DECLARE_TYPE(filterbank_combiner);
ODEON_DECLARE_TYPE(filterbank_sink);
ODEON_DECLARE_TYPE(savina_sieve);
ODEON_DECLARE_TYPE(sieve_filter);
ODEON_DECLARE_TYPE(sieve_producer);
ODEON_DECLARE_TYPE(savina_uct);
ODEON_DECLARE_TYPE(uct_node);
ODEON_DECLARE_TYPE(uct_root);
ODEON_DECLARE_TYPE(savina_facloc);
ODEON_DECLARE_TYPE(facloc_producer);
ODEON_DECLARE_TYPE(facloc_quadrant);
ODEON_DECLARE_TYPE(savina_trapezoid);
ODEON_DECLARE_TYPE(trapezoid_worker);
ODEON_DECLARE_TYPE(trapezoid_master);
ODEON_DECLARE_TYPE(savina_piprecision);
ODEON_DECLARE_TYPE(piprecision_worker);
ODEON_DECLARE_TYPE(piprecision_master);
ODEON_DECLARE_TYPE(savina_recmatmul);
ODEON_DECLARE_TYPE(recmatmul_worker);
ODEON_DECLARE_TYPE(recmatmul_master);
ODEON_DECLARE_TYPE(savina_quicksort);
ODEON_DECLARE_TYPE(quicksort_actor);
ODEON_DECLARE_TYPE(savina_apsp);
ODEON_DECLARE_TYPE(apsp_actor);
ODEON_DECLARE_TYPE(savina_sor);
ODEON_DECLARE_TYPE(sor_cell);
ODEON_DECLARE_TYPE(savina_astar);
ODEON_DECLARE_TYPE(astar_worker);
ODEON_DECLARE_TYPE(astar_master);
ODEON_DECLARE_TYPE(savina_nqueens);
ODEON_DECLARE_TYPE(nqueens_worker);
ODEON_DECLARE_TYPE(nqueens_master);
ODEON_DECLARE_TYPE(savina_fib);
ODEON_DECLARE_TYPE(fib_actor);
ODEON_DECLARE_TYPE(savina_bitonicsort);
ODEON_DECLARE_TYPE(bitonicsort_part);
ODEON_DECLARE_TYPE(bitonicsort_source);
ODEON_DECLARE_TYPE(bitonicsort_validator);
ODEON_DECLARE_TYPE(bitonicsort_label);
ODEON_DECLARE_TYPE(bitonicsort_splitter);
ODEON_DECLARE_TYPE(bitonicsort_joiner);
ODEON_DECLARE_TYPE(bitonicsort_compare);
ODEON_DECLARE_TYPE(savina_matrixsearch);
ODEON_DECLARE_TYPE(matrixsearch_seeker);
ODEON_DECLARE_TYPE(matrixsearch_controller);

ODEON_PLUGIN(
    "savina", "1.0.0", ODEON_TYPE(savina_pingpong), ODEON_TYPE(pingpong_pong),
    ODEON_TYPE(pingpong_ping), ODEON_TYPE(savina_count), ODEON_TYPE(count_counter),
    ODEON_TYPE(count_producer), ODEON_TYPE(savina_fjthrput), ODEON_TYPE(fjthrput_actor),
    ODEON_TYPE(savina_fjcreate), ODEON_TYPE(fjcreate_actor), ODEON_TYPE(savina_threadring),
    ODEON_TYPE(threadring_actor), ODEON_TYPE(savina_chameneos), ODEON_TYPE(chameneos_creature),
    ODEON_TYPE(chameneos_mall), ODEON_TYPE(savina_big), ODEON_TYPE(big_sink), ODEON_TYPE(big_actor),
    ODEON_TYPE(savina_concdict), ODEON_TYPE(concdict_dictionary), ODEON_TYPE(concdict_worker),
    ODEON_TYPE(concdict_master), ODEON_TYPE(savina_concsll), ODEON_TYPE(concsll_list),
    ODEON_TYPE(concsll_worker), ODEON_TYPE(concsll_master), ODEON_TYPE(savina_bndbuffer),
    ODEON_TYPE(bndbuffer_producer), ODEON_TYPE(bndbuffer_consumer), ODEON_TYPE(bndbuffer_manager),
    ODEON_TYPE(savina_philosopher), ODEON_TYPE(philosopher_arbiter), ODEON_TYPE(philosopher_actor),
    ODEON_TYPE(savina_barber), ODEON_TYPE(barber_customer), ODEON_TYPE(barber_factory),
    ODEON_TYPE(barber_chair), ODEON_TYPE(barber_room), ODEON_TYPE(savina_cigsmok),
    ODEON_TYPE(cigsmok_smoker), ODEON_TYPE(cigsmok_arbiter), ODEON_TYPE(savina_logmap),
    ODEON_TYPE(logmap_computer), ODEON_TYPE(logmap_worker), ODEON_TYPE(logmap_master),
    ODEON_TYPE(savina_banking), ODEON_TYPE(banking_account), ODEON_TYPE(banking_teller),
    ODEON_TYPE(savina_radixsort), ODEON_TYPE(radixsort_validator), ODEON_TYPE(radixsort_sorter),
    ODEON_TYPE(radixsort_source), ODEON_TYPE(savina_filterbank), ODEON_TYPE(filterbank_producer),
    ODEON_TYPE(filterbank_source), ODEON_TYPE(filterbank_branches), ODEON_TYPE(filterbank_stage),
    ODEON_TYPE(filterbank_integrator), ODEON_TYPE(filterbank_combiner), ODEON_TYPE(filterbank_sink),
    ODEON_TYPE(savina_sieve), ODEON_TYPE(sieve_filter), ODEON_TYPE(sieve_producer),
    ODEON_TYPE(savina_uct), ODEON_TYPE(uct_node), ODEON_TYPE(uct_root), ODEON_TYPE(savina_facloc),
    ODEON_TYPE(facloc_producer), ODEON_TYPE(facloc_quadrant), ODEON_TYPE(savina_trapezoid),
    ODEON_TYPE(trapezoid_worker), ODEON_TYPE(trapezoid_master), ODEON_TYPE(savina_piprecision),
    ODEON_TYPE(piprecision_worker), ODEON_TYPE(piprecision_master), ODEON_TYPE(savina_recmatmul),
    ODEON_TYPE(recmatmul_worker), ODEON_TYPE(recmatmul_master), ODEON_TYPE(savina_quicksort),
    ODEON_TYPE(quicksort_actor), ODEON_TYPE(savina_apsp), ODEON_TYPE(apsp_actor),
    ODEON_TYPE(savina_sor), ODEON_TYPE(sor_cell), ODEON_TYPE(savina_astar),
    ODEON_TYPE(astar_worker), ODEON_TYPE(astar_master), ODEON_TYPE(savina_nqueens),
    ODEON_TYPE(nqueens_worker), ODEON_TYPE(nqueens_master), ODEON_TYPE(savina_fib),
    ODEON_TYPE(fib_actor), ODEON_TYPE(savina_bitonicsort), ODEON_TYPE(bitonicsort_part),
    ODEON_TYPE(bitonicsort_source), ODEON_TYPE(bitonicsort_validator),
    ODEON_TYPE(bitonicsort_label), ODEON_TYPE(bitonicsort_splitter), ODEON_TYPE(bitonicsort_joiner),
    ODEON_TYPE(bitonicsort_compare), ODEON_TYPE(savina_matrixsearch),
    ODEON_TYPE(matrixsearch_seeker), ODEON_TYPE(matrixsearch_controller));
