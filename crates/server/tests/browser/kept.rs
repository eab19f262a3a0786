//! Things that must not be lost on the way: words, files, decisions, and the place of whoever uses the keyboard.

use super::scenario;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_beside_an_approval_or_another_tab_waits() {
    scenario("a_question_beside_an_approval_or_another_tab_waits").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_question_that_did_not_arrive_is_asked_again() {
    scenario("a_first_question_that_did_not_arrive_is_asked_again").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_stay_until_they_are_sent() {
    scenario("files_stay_until_they_are_sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_of_a_tool_is_skipped_or_ended() {
    scenario("a_question_of_a_tool_is_skipped_or_ended").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_chat_does_not_come_back() {
    scenario("a_deleted_chat_does_not_come_back").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_after_a_deletion_is_of_a_new_chat() {
    scenario("what_is_written_after_a_deletion_is_of_a_new_chat").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_focus_stays_in_the_chat() {
    scenario("the_focus_stays_in_the_chat").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_open_stays_so_beside_another_one() {
    scenario("a_call_that_is_open_stays_so_beside_another_one").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_that_is_being_written_decides_nothing() {
    scenario("a_letter_that_is_being_written_decides_nothing").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_and_files_that_were_not_taken_stay() {
    scenario("words_and_files_that_were_not_taken_stay").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_of_a_chat_that_was_left_are_there_again() {
    scenario("words_of_a_chat_that_was_left_are_there_again").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_belong_to_their_chats() {
    scenario("drafts_belong_to_their_chats").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_that_are_typed_before_the_list_has_come_are_looked_for() {
    scenario("words_that_are_typed_before_the_list_has_come_are_looked_for").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_other_encodings_are_shown_as_they_are() {
    scenario("files_of_other_encodings_are_shown_as_they_are").await;
}
