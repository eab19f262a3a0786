//! The conversation: answers, tools, documents, files, languages, pages around the chat.

use super::scenario;

// A71
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_stream_and_stay_in_sight() {
    scenario("answers_stream_and_stay_in_sight").await;
}

// A62, A71
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_stopped() {
    scenario("an_answer_is_stopped").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_in_mid_stream_goes_on() {
    scenario("a_reload_in_mid_stream_goes_on").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_tab_sees_the_same() {
    scenario("a_second_tab_sees_the_same").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvals_survive_a_reload_and_are_decided() {
    scenario("approvals_survive_a_reload_and_are_decided").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_is_taken_once() {
    scenario("a_decision_is_taken_once").await;
}

// A54, A61
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_the_page_are_called_once() {
    scenario("tools_of_the_page_are_called_once").await;
}

// A58
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_the_page_may_ask_be_skipped_and_fail() {
    scenario("a_tool_of_the_page_may_ask_be_skipped_and_fail").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failures_say_what_to_do() {
    scenario("failures_say_what_to_do").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thinking_and_tools_fold() {
    scenario("thinking_and_tools_fold").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_says_how_far_it_has_come() {
    scenario("a_call_says_how_far_it_has_come").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markdown_is_more_than_words() {
    scenario("markdown_is_more_than_words").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_of_all_kinds_are_shown() {
    scenario("documents_of_all_kinds_are_shown").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_chat_says_how_to_begin() {
    scenario("an_empty_chat_says_how_to_begin").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_asked_for() {
    scenario("a_key_is_asked_for").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_wait_their_turn() {
    scenario("messages_wait_their_turn").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn citations_open_their_passage() {
    scenario("citations_open_their_passage").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keyboard_is_enough() {
    scenario("the_keyboard_is_enough").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_input_method_sends_nothing() {
    scenario("an_input_method_sends_nothing").await;
}

// A75
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_text_does_nothing() {
    scenario("hostile_text_does_nothing").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_page_changes_nothing() {
    scenario("a_hostile_page_changes_nothing").await;
}

// A72, A81
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_widget_opens_and_goes() {
    scenario("the_widget_opens_and_goes").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_told() {
    scenario("a_lost_connection_is_told").await;
}

// A77
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn languages_change_at_once() {
    scenario("languages_change_at_once").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_keeps_people_out() {
    scenario("nothing_keeps_people_out").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_telephone_has_room() {
    scenario("a_telephone_has_room").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paper_has_the_conversation_alone() {
    scenario("paper_has_the_conversation_alone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_are_made() {
    scenario("pictures_are_made").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_stay_quick() {
    scenario("long_answers_stay_quick").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_written_anew() {
    scenario("a_question_is_written_anew").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_attached_within_limits() {
    scenario("files_are_attached_within_limits").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_found_renamed_and_deleted() {
    scenario("sessions_are_found_renamed_and_deleted").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_citation_opens_a_pdf_at_its_page() {
    scenario("a_citation_opens_a_pdf_at_its_page").await;
}

// A60
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_the_browser_need_leave() {
    scenario("tools_of_the_browser_need_leave").await;
}

// A72, A73
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_and_facts_are_asked_for_each_time() {
    scenario("headers_and_facts_are_asked_for_each_time").await;
}

// A72, A73
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_drives_the_chat() {
    scenario("the_page_drives_the_chat").await;
}

// A59, A81
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_fills_its_cart() {
    scenario("the_demo_fills_its_cart").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_of_other_places_are_made() {
    scenario("pictures_of_other_places_are_made").await;
}
