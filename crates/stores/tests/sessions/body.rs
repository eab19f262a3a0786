//! Runs the body of each test over each store.

/// Makes tests of functions that take a place.
macro_rules! over_each_store {
    ($($module:ident::$test:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test] async fn $test() { crate::$module::$test(crate::place::Place::memory()).await; })*
        }
        mod postgres {
            $(#[tokio::test] async fn $test() { crate::$module::$test(crate::place::Place::postgres()).await; })*
        }
        mod sqlite {
            $(#[tokio::test] async fn $test() { crate::$module::$test(crate::place::Place::sqlite()).await; })*
        }
    };
}

over_each_store! {
    cleaning::a_session_that_nobody_uses_expires,
    cleaning::a_refused_run_leaves_what_waits,
    cleaning::a_session_that_begins_anew_deletes_its_documents,
    cleaning::any_access_keeps_a_session,
    cleaning::a_look_at_a_session_does_not_move_it_in_the_list,
    cleaning::a_session_is_kept_for_the_answer_of_its_caller_beside_an_approval,
    cleaning::cleanup_leaves_what_is_in_use_or_waited_for,
    cleaning::cleared_sessions_are_gone_at_once,
    cleaning::clearing_cancels_the_run_and_deletes_the_documents,
    cleaning::with_expiry_off_nothing_is_deleted,
    closing::a_call_that_was_approved_is_not_left,
    closing::a_message_for_a_run_that_another_one_is_about_to_close_is_refused,
    closing::a_message_that_was_taken_is_read_by_the_next_run,
    closing::a_receipt_that_came_for_a_closed_run_is_told,
    closing::a_receipt_that_comes_while_the_next_run_is_under_way_is_told_there,
    closing::a_result_that_its_driver_left_is_told_by_the_next_run,
    closing::a_run_that_is_dropped_behind_one_that_waited_keeps_no_session,
    closing::nothing_is_left_for_a_run_that_has_ended,
    crashes::a_crashed_run_goes_on_elsewhere_once_its_lease_is_over,
    crashes::a_decision_made_elsewhere_lets_the_run_go_on,
    crashes::a_failed_run_leaves_a_valid_log,
    crashes::a_result_delivered_elsewhere_lets_the_run_go_on,
    crashes::a_result_that_was_delivered_is_not_lost_to_the_next_run,
    crashes::a_run_that_waits_hears_of_a_delivery_elsewhere,
    delivering::a_delivery_and_a_wait_are_their_principals_alone,
    delivering::a_word_behind_the_end_is_left_at_the_last_run_alone,
    delivering::an_append_says_whether_something_was_delivered_before_it,
    delivering::a_result_that_comes_while_another_run_begins_is_not_lost,
    erasing::a_deletion_that_failed_or_was_cut_off_is_made_good,
    erasing::documents_of_hooks_go_with_their_session,
    facts::a_memory_is_bounded_also_by_two_at_once,
    facts::a_query_is_words_whatever_is_in_it,
    facts::facts_are_found_in_every_script,
    facts::facts_of_others_are_neither_found_nor_counted,
    facts::the_best_match_comes_first_and_the_same_text_is_one_fact,
    forking::a_fork_goes_on_from_its_run_and_leaves_the_session_alone,
    forking::a_run_that_has_not_ended_is_not_forked,
    forking::a_session_that_is_renamed_is_found_by_its_title,
    going_on::a_conversation_goes_on_in_another_process,
    going_on::a_document_that_the_model_made_is_there_in_another_process,
    going_on::a_long_conversation_is_kept_once,
    going_on::a_session_asks_what_a_program_with_the_history_asks,
    going_on::a_run_that_is_cancelled_while_it_is_opened_has_ended,
    going_on::instructions_that_changed_hold_from_the_next_run_on,
    going_on::rounds_that_brought_changing_documents_hinder_no_later_run,
    going_on::the_agent_that_answered_last_has_the_conversation_still,
    going_on::what_a_store_cannot_hold_is_left_out_or_refused,
    load::two_hundred_sessions_at_once_take_bounded_memory_and_block_nobody,
    isolation::a_document_of_an_id_that_another_session_has_is_the_sessions_own,
    isolation::a_hundred_sessions_at_once_see_nothing_of_each_other,
    isolation::a_handle_does_not_follow_its_id_to_another_principal,
    isolation::a_session_is_its_principals_alone,
    overtaking::a_result_that_another_one_overtakes_is_kept,
    overtaking::a_run_that_is_cancelled_while_its_lease_is_taken_leaves_nothing_behind,
    overtaking::a_run_that_somebody_ended_does_not_go_on_where_the_stops_cannot_be_read,
    searching::a_long_session_is_found_by_all_of_its_words,
    searching::a_session_is_found_by_all_that_was_said,
    searching::a_session_is_found_by_an_answer_that_was_stopped,
    searching::a_session_is_not_found_by_replies_that_do_not_count,
    searching::no_verdict_is_read_without_its_reply,
    searching::sessions_of_one_moment_are_listed_by_the_bytes_of_their_ids,
    single::a_dropped_run_frees_the_session_at_once,
    single::a_lease_that_was_given_up_is_free_here_also_behind_attempts_that_failed,
    single::a_lease_that_was_let_go_stays_so,
    single::a_second_run_is_refused_with_the_id_of_the_first,
    single::a_writer_that_lost_the_lease_is_refused,
    single::an_append_that_is_refused_changes_nothing,
    single::runs_that_queue_come_one_after_the_other,
    single::runs_that_race_never_interleave,
}
