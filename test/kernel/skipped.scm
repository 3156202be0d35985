# Tests of test/api that are about connections by rdma_cm: PROGRAM <tab> TEST <tab> REASON.
connection_test	Connections.connect_and_accept_carry_48_bytes_each_way_and_the_exact_qualifier	sockets carry private data as long as they are, without the fields of rdma_cm
connection_test	Connections.a_rejection_brings_its_data_and_the_endpoint_connects_after_a_reset	sockets carry private data as long as they are, without the fields of rdma_cm
connection_test	Connections.an_address_of_no_machine_here_is_unreachable_and_one_message_says_why	a socket without a route is refused by dat_ep_connect itself
