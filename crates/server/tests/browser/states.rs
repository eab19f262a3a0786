//! States that people see seldom: answers that nobody works on, long lists, files that are not taken.

use super::scenario;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_nobody_goes_on_with_is_continued() {
    scenario("an_answer_that_nobody_goes_on_with_is_continued").await;
}

// A77
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headings_in_documents_are_in_the_language_of_the_reader() {
    scenario("headings_in_documents_are_in_the_language_of_the_reader").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chats_of_all_days_are_in_the_list() {
    scenario("chats_of_all_days_are_in_the_list").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_other_types_are_not_sent() {
    scenario("files_of_other_types_are_not_sent").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_wants_no_motion_sees_none() {
    scenario("who_wants_no_motion_sees_none").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_lies_below_the_edges_of_a_telephone() {
    scenario("nothing_lies_below_the_edges_of_a_telephone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_are_known_in_another_browser() {
    scenario("versions_are_known_in_another_browser").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_nests_too_deeply_hides_no_decision() {
    scenario("a_text_that_nests_too_deeply_hides_no_decision").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn addresses_that_stand_apart_are_links() {
    scenario("addresses_that_stand_apart_are_links").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_passage_of_a_page_that_is_not_there_is_told() {
    scenario("a_passage_of_a_page_that_is_not_there_is_told").await;
}
