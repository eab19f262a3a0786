//! Pages around the chat: which may hold it in a frame, which may ask, what they may take back.

use super::scenario;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_holds_the_chat_in_a_frame() {
    scenario("no_page_holds_the_chat_in_a_frame").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_may_holds_the_chat_in_a_frame() {
    scenario("a_page_that_may_holds_the_chat_in_a_frame").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_another_origin_is_not_answered() {
    scenario("a_page_of_another_origin_is_not_answered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_page_takes_back_is_gone() {
    scenario("what_a_page_takes_back_is_gone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_waits_for_its_tool() {
    scenario("a_call_waits_for_its_tool").await;
}

// A58
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_the_page_returns_a_picture() {
    scenario("a_tool_of_the_page_returns_a_picture").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_moves_keeps_its_chat() {
    scenario("a_page_that_moves_keeps_its_chat").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chats_of_other_servers_and_agents_are_kept_apart() {
    scenario("chats_of_other_servers_and_agents_are_kept_apart").await;
}

// A72
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_element_that_is_gone_does_nothing() {
    scenario("an_element_that_is_gone_does_nothing").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_element_that_moves_goes_on() {
    scenario("an_element_that_moves_goes_on").await;
}

// A72
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_element_of_later_has_what_waits() {
    scenario("an_element_of_later_has_what_waits").await;
}
