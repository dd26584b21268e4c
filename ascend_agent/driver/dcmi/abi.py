"""The binary interface of the vendor's two libraries, as plain tables.

What is decided here: names, parameter order, field order, offsets and sizes, for both API
generations of libdcmi.so and for liblingqu-dcmi.so, on LP64 little-endian machines with natural
alignment (x86-64 and aarch64 agree). ``library`` turns the tables into ctypes declarations;
meaning and call order are left to ``v1``, ``v2`` and ``events``. Source: DCMI API.

Everything is a literal, so that loading the module costs the worker next to nothing, and so that
a C header with compile-time assertions can be generated from it.

Shapes:
    STRUCTS    name -> (kind, size, alignment, fields); a type comes after the types it contains.
    fields     ((field, C type, dimensions, offset), ...); dimensions () is a scalar, (8, 16) is
               an array of 8 rows of 16. Members of enumeration type are ``unsigned int``.
    FUNCTIONS  name -> (library, ((parameter, C type), ...)); every function returns ``int``.
               A structure type without ``*`` is passed by value.
    VARIANTS   name -> (structure, layout as in STRUCTS) of the same structure in other headers.
    ENUMS      name -> {member: value}; every ``enum X`` of FUNCTIONS is here, and is 4 bytes.
               Names without the prefix ``dcmi_`` are value lists of plain integers.
    SUB_CMD    main command -> {sub command: value} of the generic information channel.
"""

# fmt: off

LIBDCMI = "libdcmi.so"
LIBLINGQU = "liblingqu-dcmi.so"

STRUCTS: dict[
    str, tuple[str, int, int, tuple[tuple[str, str, tuple[int, ...], int], ...]]
] = {
    "dcmi_chip_info": ("struct", 100, 4, (
        ("chip_type", "unsigned char", (32,), 0),
        ("chip_name", "unsigned char", (32,), 32),
        ("chip_ver", "unsigned char", (32,), 64),
        ("aicore_cnt", "unsigned int", (), 96),
    )),
    "dcmi_chip_info_v2": ("struct", 132, 4, (
        ("chip_type", "unsigned char", (32,), 0),
        ("chip_name", "unsigned char", (32,), 32),
        ("chip_ver", "unsigned char", (32,), 64),
        ("aicore_cnt", "unsigned int", (), 96),
        ("npu_name", "unsigned char", (32,), 100),
    )),
    "dcmi_board_info": ("struct", 16, 4, (
        ("board_id", "unsigned int", (), 0),
        ("pcb_id", "unsigned int", (), 4),
        ("bom_id", "unsigned int", (), 8),
        ("slot_id", "unsigned int", (), 12),
    )),
    "dcmi_die_id": ("struct", 20, 4, (
        ("soc_die", "unsigned int", (5,), 0),
    )),
    "dcmi_pcie_info_all": ("struct", 64, 4, (
        ("venderid", "unsigned int", (), 0),
        ("subvenderid", "unsigned int", (), 4),
        ("deviceid", "unsigned int", (), 8),
        ("subdeviceid", "unsigned int", (), 12),
        ("domain", "int", (), 16),
        ("bdf_busid", "unsigned int", (), 20),
        ("bdf_deviceid", "unsigned int", (), 24),
        ("bdf_funcid", "unsigned int", (), 28),
        ("reserve", "unsigned char", (32,), 32),
    )),
    "dcmi_pcie_info": ("struct", 28, 4, (
        ("deviceid", "unsigned int", (), 0),
        ("venderid", "unsigned int", (), 4),
        ("subvenderid", "unsigned int", (), 8),
        ("subdeviceid", "unsigned int", (), 12),
        ("bdf_deviceid", "unsigned int", (), 16),
        ("bdf_busid", "unsigned int", (), 20),
        ("bdf_funcid", "unsigned int", (), 24),
    )),
    "dcmi_ub_id_info": ("struct", 40, 2, (
        ("device_id", "unsigned short", (), 0),
        ("vendor_id", "unsigned short", (), 2),
        ("module_vendor_id", "unsigned short", (), 4),
        ("module_id", "unsigned short", (), 6),
        ("reserved", "unsigned char", (32,), 8),
    )),
    "dcmi_elabel_info": ("struct", 1280, 1, (
        ("product_name", "char", (256,), 0),
        ("model", "char", (256,), 256),
        ("manufacturer", "char", (256,), 512),
        ("manufacturer_date", "char", (256,), 768),
        ("serial_number", "char", (256,), 1024),
    )),
    "dcmi_hbm_info": ("struct", 32, 8, (
        ("memory_size", "unsigned long long", (), 0),
        ("freq", "unsigned int", (), 8),
        ("memory_usage", "unsigned long long", (), 16),
        ("temp", "int", (), 24),
        ("bandwith_util_rate", "unsigned int", (), 28),
    )),
    "dcmi_get_memory_info_stru": ("struct", 112, 8, (
        ("memory_size", "unsigned long long", (), 0),
        ("memory_available", "unsigned long long", (), 8),
        ("freq", "unsigned int", (), 16),
        ("hugepagesize", "unsigned long", (), 24),
        ("hugepages_total", "unsigned long", (), 32),
        ("hugepages_free", "unsigned long", (), 40),
        ("utiliza", "unsigned int", (), 48),
        ("reserve", "unsigned char", (60,), 52),
    )),
    "dcmi_memory_info_stru": ("struct", 16, 8, (
        ("memory_size", "unsigned long long", (), 0),
        ("freq", "unsigned int", (), 8),
        ("utiliza", "unsigned int", (), 12),
    )),
    "dcmi_multi_utilization_info": ("struct", 48, 4, (
        ("aic_util", "unsigned int", (), 0),
        ("aiv_util", "unsigned int", (), 4),
        ("aicore_util", "unsigned int", (), 8),
        ("npu_util", "unsigned int", (), 12),
        ("reserved", "unsigned int", (8,), 16),
    )),
    "dcmi_proc_mem_info": ("struct", 16, 8, (
        ("proc_id", "int", (), 0),
        ("proc_mem_usage", "unsigned long", (), 8),
    )),
    "dcmi_ecc_info": ("struct", 36, 4, (
        ("enable_flag", "int", (), 0),
        ("single_bit_error_cnt", "unsigned int", (), 4),
        ("double_bit_error_cnt", "unsigned int", (), 8),
        ("total_single_bit_error_cnt", "unsigned int", (), 12),
        ("total_double_bit_error_cnt", "unsigned int", (), 16),
        ("single_bit_isolated_pages_cnt", "unsigned int", (), 20),
        ("double_bit_isolated_pages_cnt", "unsigned int", (), 24),
        ("single_bit_next_isolated_pages_cnt", "unsigned int", (), 28),
        ("double_bit_next_isolated_pages_cnt", "unsigned int", (), 32),
    )),
    "dcmi_aicore_info": ("struct", 8, 4, (
        ("freq", "unsigned int", (), 0),
        ("cur_freq", "unsigned int", (), 4),
    )),
    "dcmi_aicpu_info": ("struct", 76, 4, (
        ("max_freq", "unsigned int", (), 0),
        ("cur_freq", "unsigned int", (), 4),
        ("aicpu_num", "unsigned int", (), 8),
        ("util_rate", "unsigned int", (16,), 12),
    )),
    "dcmi_hbm_product_info": ("struct", 64, 2, (
        ("manufacturer_id", "unsigned short", (), 0),
        ("reserve", "unsigned char", (62,), 2),
    )),
    "dcmi_event_filter": ("struct", 48, 8, (
        ("filter_flag", "unsigned long long", (), 0),
        ("event_id", "unsigned int", (), 8),
        ("severity", "unsigned char", (), 12),
        ("node_type", "unsigned char", (), 13),
        ("resv", "unsigned char", (32,), 14),
    )),
    "dcmi_dms_fault_event": ("struct", 352, 8, (
        ("event_id", "unsigned int", (), 0),
        ("deviceid", "unsigned short", (), 4),
        ("node_type", "unsigned char", (), 6),
        ("node_id", "unsigned char", (), 7),
        ("sub_node_type", "unsigned char", (), 8),
        ("sub_node_id", "unsigned char", (), 9),
        ("severity", "unsigned char", (), 10),
        ("assertion", "unsigned char", (), 11),
        ("event_serial_num", "int", (), 12),
        ("notify_serial_num", "int", (), 16),
        ("alarm_raised_time", "unsigned long long", (), 24),
        ("event_name", "char", (256,), 32),
        ("additional_info", "char", (32,), 288),
        ("os_id", "unsigned char", (), 320),
        ("resv_1", "unsigned char", (), 321),
        ("node_type_ex", "unsigned short", (), 322),
        ("sub_node_type_ex", "unsigned short", (), 324),
        ("resv_2", "unsigned char", (2,), 326),
        ("resv", "unsigned char", (24,), 328),
    )),
    "dcmi_event_u": ("union", 352, 8, (
        ("dms_event", "struct dcmi_dms_fault_event", (), 0),
    )),
    "dcmi_event": ("struct", 360, 8, (
        ("type", "unsigned int", (), 0),
        ("event_t", "union dcmi_event_u", (), 8),
    )),
    "dcmi_create_vdev_res_stru": ("struct", 104, 4, (
        ("vdev_id", "unsigned int", (), 0),
        ("vfg_id", "unsigned int", (), 4),
        ("template_name", "char", (32,), 8),
        ("reserved", "unsigned char", (64,), 40),
    )),
    "dcmi_create_vdev_out": ("struct", 52, 4, (
        ("vdev_id", "unsigned int", (), 0),
        ("pcie_bus", "unsigned int", (), 4),
        ("pcie_device", "unsigned int", (), 8),
        ("pcie_func", "unsigned int", (), 12),
        ("vfg_id", "unsigned int", (), 16),
        ("reserved", "unsigned char", (32,), 20),
    )),
    "dcmi_base_resource": ("struct", 64, 8, (
        ("token", "unsigned long long", (), 0),
        ("token_max", "unsigned long long", (), 8),
        ("task_timeout", "unsigned long long", (), 16),
        ("vfg_id", "unsigned int", (), 24),
        ("vip_mode", "unsigned char", (), 28),
        ("reserved", "unsigned char", (31,), 29),
    )),
    "dcmi_computing_resource": ("struct", 96, 8, (
        ("aic", "float", (), 0),
        ("aiv", "float", (), 4),
        ("dsa", "unsigned short", (), 8),
        ("rtsq", "unsigned short", (), 10),
        ("acsq", "unsigned short", (), 12),
        ("cdqm", "unsigned short", (), 14),
        ("c_core", "unsigned short", (), 16),
        ("ffts", "unsigned short", (), 18),
        ("sdma", "unsigned short", (), 20),
        ("pcie_dma", "unsigned short", (), 22),
        ("memory_size", "unsigned long long", (), 24),
        ("event_id", "unsigned int", (), 32),
        ("notify_id", "unsigned int", (), 36),
        ("stream_id", "unsigned int", (), 40),
        ("model_id", "unsigned int", (), 44),
        ("topic_schedule_aicpu", "unsigned short", (), 48),
        ("host_ctrl_cpu", "unsigned short", (), 50),
        ("host_aicpu", "unsigned short", (), 52),
        ("device_aicpu", "unsigned short", (), 54),
        ("topic_ctrl_cpu_slot", "unsigned short", (), 56),
        ("vdev_aicore_utilization", "unsigned int", (), 60),
        ("vdev_memory_total", "unsigned long long", (), 64),
        ("vdev_memory_free", "unsigned long long", (), 72),
        ("reserved", "unsigned char", (12,), 80),
    )),
    "dcmi_media_resource": ("struct", 56, 4, (
        ("jpegd", "float", (), 0),
        ("jpege", "float", (), 4),
        ("vpc", "float", (), 8),
        ("vdec", "float", (), 12),
        ("pngd", "float", (), 16),
        ("venc", "float", (), 20),
        ("reserved", "unsigned char", (32,), 24),
    )),
    "dcmi_vdev_query_info": ("struct", 256, 8, (
        ("name", "char", (16,), 0),
        ("status", "unsigned int", (), 16),
        ("is_container_used", "unsigned int", (), 20),
        ("vfid", "unsigned int", (), 24),
        ("vfg_id", "unsigned int", (), 28),
        ("container_id", "unsigned long long", (), 32),
        ("base", "struct dcmi_base_resource", (), 40),
        ("computing", "struct dcmi_computing_resource", (), 104),
        ("media", "struct dcmi_media_resource", (), 200),
    )),
    "dcmi_vdev_query_stru": ("struct", 264, 8, (
        ("vdev_id", "unsigned int", (), 0),
        ("query_info", "struct dcmi_vdev_query_info", (), 8),
    )),
    "dcmi_soc_total_resource": ("struct", 360, 8, (
        ("vdev_num", "unsigned int", (), 0),
        ("vdev_id", "unsigned int", (32,), 4),
        ("vfg_num", "unsigned int", (), 132),
        ("vfg_bitmap", "unsigned int", (), 136),
        ("base", "struct dcmi_base_resource", (), 144),
        ("computing", "struct dcmi_computing_resource", (), 208),
        ("media", "struct dcmi_media_resource", (), 304),
    )),
    "dcmi_soc_free_resource": ("struct", 224, 8, (
        ("vfg_num", "unsigned int", (), 0),
        ("vfg_bitmap", "unsigned int", (), 4),
        ("base", "struct dcmi_base_resource", (), 8),
        ("computing", "struct dcmi_computing_resource", (), 72),
        ("media", "struct dcmi_media_resource", (), 168),
    )),
    "dcmi_ip_addr_u": ("union", 16, 1, (
        ("ip6", "unsigned char", (16,), 0),
        ("ip4", "unsigned char", (4,), 0),
    )),
    "dcmi_ip_addr": ("struct", 20, 4, (
        ("u_addr", "union dcmi_ip_addr_u", (), 0),
        ("ip_type", "unsigned int", (), 16),
    )),
    "dcmi_spod_info": ("struct", 48, 4, (
        ("sdid", "unsigned int", (), 0),
        ("scale_type", "unsigned int", (), 4),
        ("super_pod_id", "unsigned int", (), 8),
        ("server_id", "unsigned int", (), 12),
        ("chassis_id", "unsigned int", (), 16),
        ("super_pod_type", "unsigned int", (), 20),
        ("reserve", "unsigned int", (6,), 24),
    )),
    "dcmi_spod_node_status": ("struct", 8, 4, (
        ("sdid", "unsigned int", (), 0),
        ("status", "unsigned int", (), 4),
    )),
    "dcmi_netdev_list_info": ("struct", 132, 4, (
        ("netdev_nums", "int", (), 0),
        ("netdev_name", "char", (8, 16), 4),
    )),
    "dcmi_pcie_link_bandwidth_info": ("struct", 88, 4, (
        ("profiling_time", "int", (), 0),
        ("tx_p_bw", "unsigned int", (3,), 4),
        ("tx_np_bw", "unsigned int", (3,), 16),
        ("tx_cpl_bw", "unsigned int", (3,), 28),
        ("tx_np_lantency", "unsigned int", (3,), 40),
        ("rx_p_bw", "unsigned int", (3,), 52),
        ("rx_np_bw", "unsigned int", (3,), 64),
        ("rx_cpl_bw", "unsigned int", (3,), 76),
    )),
    "dcmi_hccs_bandwidth_info": ("struct", 280, 8, (
        ("profiling_time", "int", (), 0),
        ("total_txbw", "double", (), 8),
        ("total_rxbw", "double", (), 16),
        ("tx_bandwidth", "double", (16,), 24),
        ("rx_bandwidth", "double", (16,), 152),
    )),
    "dcmi_hccs_statistic_info": ("struct", 512, 4, (
        ("tx_cnt", "unsigned int", (16,), 0),
        ("rx_cnt", "unsigned int", (16,), 64),
        ("crc_err_cnt", "unsigned int", (16,), 128),
        ("retry_cnt", "unsigned int", (16,), 192),
        ("reserved_field_cnt", "unsigned int", (64,), 256),
    )),
    "dcmi_hccs_statistic_info_u64": ("struct", 1024, 8, (
        ("tx_cnt", "unsigned long long", (16,), 0),
        ("rx_cnt", "unsigned long long", (16,), 128),
        ("crc_err_cnt", "unsigned long long", (16,), 256),
        ("retry_cnt", "unsigned long long", (16,), 384),
        ("reserved", "unsigned long long", (64,), 512),
    )),
    "dcmi_hccs_statues": ("struct", 12, 4, (
        ("pcs_status", "unsigned int", (), 0),
        ("hdlc_status", "unsigned int", (), 4),
        ("reserve", "unsigned char", (4,), 8),
    )),
    "dcmi_hccs_lane_info": ("struct", 132, 4, (
        ("hccs_port_pcs_bitmap", "unsigned int", (), 0),
        ("pcs_lane_bitmap", "unsigned int", (16,), 4),
        ("reserve", "unsigned int", (16,), 68),
    )),
    "dcmi_sio_crc_err_statistic_info": ("struct", 12, 2, (
        ("tx_error_count", "unsigned short", (), 0),
        ("rx_error_count", "unsigned short", (), 2),
        ("reserved", "unsigned char", (8,), 4),
    )),
    "dcmi_hccsping_mesh_operate": ("struct", 1048, 4, (
        ("dst_addr_list", "char", (1024,), 0),
        ("pkt_size", "int", (), 1024),
        ("pkt_send_num", "int", (), 1028),
        ("pkt_interval", "int", (), 1032),
        ("timeout", "int", (), 1036),
        ("task_interval", "int", (), 1040),
        ("task_id", "int", (), 1044),
    )),
    "dcmi_hccsping_mesh_info": ("struct", 3272, 8, (
        ("dst_addr", "char", (48, 16), 0),
        ("suc_pkt_num", "unsigned int", (48,), 768),
        ("fail_pkt_num", "unsigned int", (48,), 960),
        ("max_time", "long", (48,), 1152),
        ("min_time", "long", (48,), 1536),
        ("avg_time", "long", (48,), 1920),
        ("tp95_time", "long", (48,), 2304),
        ("reply_stat_num", "int", (48,), 2688),
        ("ping_total_num", "unsigned long long", (48,), 2880),
        ("dest_num", "int", (), 3264),
    )),
    "dcmi_urma_eid_in4": ("struct", 16, 8, (
        ("reserved", "unsigned long", (), 0),
        ("prefix", "unsigned int", (), 8),
        ("addr", "unsigned int", (), 12),
    )),
    "dcmi_urma_eid_in6": ("struct", 16, 8, (
        ("subnet_prefix", "unsigned long", (), 0),
        ("interface_id", "unsigned long", (), 8),
    )),
    "dcmi_urma_eid": ("union", 16, 8, (
        ("raw", "unsigned char", (16,), 0),
        ("in4", "struct dcmi_urma_eid_in4", (), 0),
        ("in6", "struct dcmi_urma_eid_in6", (), 0),
    )),
    "dcmi_urma_eid_info": ("struct", 24, 8, (
        ("eid", "union dcmi_urma_eid", (), 0),
        ("eid_index", "unsigned int", (), 16),
    )),
    "dcmi_ub_port_info": ("struct", 8, 4, (
        ("udie_id", "int", (), 0),
        ("port_id", "int", (), 4),
    )),
    "dcmi_port_pkt_stats_info": ("struct", 520, 8, (
        ("port_id", "unsigned int", (), 0),
        ("is_uboe_port", "unsigned int", (), 4),
        ("ub_ipv4_pkt_cnt_rx", "unsigned long long", (), 8),
        ("ub_ipv6_pkt_cnt_rx", "unsigned long long", (), 16),
        ("unic_ipv4_pkt_cnt_rx", "unsigned long long", (), 24),
        ("unic_ipv6_pkt_cnt_rx", "unsigned long long", (), 32),
        ("ub_compact_pkt_cnt_rx", "unsigned long long", (), 40),
        ("ub_umoc_ctph_cnt_rx", "unsigned long long", (), 48),
        ("ub_umoc_ntph_cnt_rx", "unsigned long long", (), 56),
        ("ub_mem_pkt_cnt_rx", "unsigned long long", (), 64),
        ("unknown_pkt_cnt_rx", "unsigned long long", (), 72),
        ("drop_ind_cnt_rx", "unsigned long long", (), 80),
        ("err_ind_cnt_rx", "unsigned long long", (), 88),
        ("to_host_pkt_cnt_rx", "unsigned long long", (), 96),
        ("to_imp_pkt_cnt_rx", "unsigned long long", (), 104),
        ("to_mar_pkt_cnt_rx", "unsigned long long", (), 112),
        ("to_link_pkt_cnt_rx", "unsigned long long", (), 120),
        ("to_noc_pkt_cnt_rx", "unsigned long long", (), 128),
        ("route_err_cnt_rx", "unsigned long long", (), 136),
        ("out_err_cnt_rx", "unsigned long long", (), 144),
        ("length_err_cnt_rx", "unsigned long long", (), 152),
        ("rx_busi_flit_num", "unsigned long long", (), 160),
        ("rx_send_ack_flit", "unsigned long long", (), 168),
        ("ub_ipv4_pkt_cnt_tx", "unsigned long long", (), 176),
        ("ub_ipv6_pkt_cnt_tx", "unsigned long long", (), 184),
        ("unic_ipv4_pkt_cnt_tx", "unsigned long long", (), 192),
        ("unic_ipv6_pkt_cnt_tx", "unsigned long long", (), 200),
        ("ub_compact_pkt_cnt_tx", "unsigned long long", (), 208),
        ("ub_umoc_ctph_cnt_tx", "unsigned long long", (), 216),
        ("ub_umoc_ntph_cnt_tx", "unsigned long long", (), 224),
        ("ub_mem_pkt_cnt_tx", "unsigned long long", (), 232),
        ("unknown_pkt_cnt_tx", "unsigned long long", (), 240),
        ("drop_ind_cnt_tx", "unsigned long long", (), 248),
        ("err_ind_cnt_tx", "unsigned long long", (), 256),
        ("lpbk_ind_cnt_tx", "unsigned long long", (), 264),
        ("out_err_cnt_tx", "unsigned long long", (), 272),
        ("length_err_cnt_tx", "unsigned long long", (), 280),
        ("tx_busi_flit_num", "unsigned long long", (), 288),
        ("tx_recv_ack_flit", "unsigned long long", (), 296),
        ("retry_req_sum", "unsigned long long", (), 304),
        ("retry_ack_sum", "unsigned long long", (), 312),
        ("crc_error_sum", "unsigned long long", (), 320),
        ("core_mib_rxpausepkts", "unsigned long long", (), 328),
        ("core_mib_txpausepkts", "unsigned long long", (), 336),
        ("core_mib_rxpfcpkts", "unsigned long long", (), 344),
        ("core_mib_txpfcpkts", "unsigned long long", (), 352),
        ("core_mib_rxbadpkts", "unsigned long long", (), 360),
        ("core_mib_txbadpkts", "unsigned long long", (), 368),
        ("core_mib_rxbadoctets", "unsigned long long", (), 376),
        ("core_mib_txbadoctets", "unsigned long long", (), 384),
        ("reserved", "unsigned char", (128,), 392),
    )),
    "dcmi_ub_port_link_status": ("struct", 148, 4, (
        ("ub_link_status", "unsigned int", (), 0),
        ("ub_port_status", "unsigned int", (36,), 4),
    )),
    "port_info": ("struct", 8, 4, (
        ("port_index", "int", (), 0),
        ("mode", "int", (), 4),
    )),
    "die_port_list_info": ("struct", 264, 4, (
        ("die_index", "int", (), 0),
        ("port_nums", "int", (), 4),
        ("port_list_data", "struct port_info", (32,), 8),
    )),
    "dcmi_port_list_info": ("struct", 532, 4, (
        ("die_nums", "int", (), 0),
        ("die_list_data", "struct die_port_list_info", (2,), 4),
    )),
    "dcmi_ub_bandwidth_info": ("struct", 16, 4, (
        ("tx_bandwidth", "unsigned int", (), 0),
        ("rx_bandwidth", "unsigned int", (), 4),
        ("reserved", "unsigned int", (2,), 8),
    )),
    "dcmi_ub_ping_mesh_operate": ("struct", 1068, 4, (
        ("src_eid", "char", (16,), 0),
        ("dst_eid_list", "char", (64, 16), 16),
        ("dst_num", "int", (), 1040),
        ("pkt_size", "int", (), 1044),
        ("pkt_send_num", "int", (), 1048),
        ("pkt_interval", "int", (), 1052),
        ("timeout", "int", (), 1056),
        ("task_interval", "int", (), 1060),
        ("task_id", "int", (), 1064),
    )),
    "dcmi_ub_ping_mesh_info": ("struct", 3552, 8, (
        ("src_eid", "char", (16,), 0),
        ("dst_eid_list", "char", (64, 16), 16),
        ("suc_pkt_num", "unsigned int", (48,), 1040),
        ("fail_pkt_num", "unsigned int", (48,), 1232),
        ("max_time", "long", (48,), 1424),
        ("min_time", "long", (48,), 1808),
        ("avg_time", "long", (48,), 2192),
        ("tp95_time", "long", (48,), 2576),
        ("reply_stat_num", "int", (48,), 2960),
        ("ping_total_num", "unsigned long long", (48,), 3152),
        ("dest_num", "int", (), 3536),
        ("occur_time", "unsigned long", (), 3544),
    )),
    "ubping_pair_info": ("struct", 96, 1, (
        ("src_eid", "char", (48,), 0),
        ("dst_eid", "char", (48,), 48),
    )),
    "dcmi_ubping_mesh_params": ("struct", 4644, 4, (
        ("ub_pair_info", "struct ubping_pair_info", (48,), 0),
        ("pair_num", "int", (), 4608),
        ("pkt_size", "int", (), 4612),
        ("pkt_send_num", "int", (), 4616),
        ("pkt_interval", "int", (), 4620),
        ("task_interval", "int", (), 4624),
        ("reserved", "unsigned int", (4,), 4628),
    )),
    "dcmi_ubping_result": ("struct", 144, 8, (
        ("ub_pair_info", "struct ubping_pair_info", (), 0),
        ("max_time", "long", (), 96),
        ("min_time", "long", (), 104),
        ("avg_time", "long", (), 112),
        ("tp95_time", "long", (), 120),
        ("suc_pkt_num", "unsigned int", (), 128),
        ("fail_pkt_num", "unsigned int", (), 132),
        ("reply_stat_num", "int", (), 136),
    )),
    "dcmi_ubping_mesh_info": ("struct", 6920, 8, (
        ("result_num", "int", (), 0),
        ("ub_ping_result", "struct dcmi_ubping_result", (48,), 8),
    )),
    "LqDcmiEvent": ("struct", 112, 8, (
        ("eventType", "unsigned int", (), 0),
        ("subType", "unsigned int", (), 4),
        ("peerportDevice", "unsigned short", (), 8),
        ("peerportId", "unsigned short", (), 10),
        ("switchChipid", "unsigned short", (), 12),
        ("switchPortid", "unsigned short", (), 14),
        ("severity", "unsigned char", (), 16),
        ("assertion", "unsigned char", (), 17),
        ("res", "char", (6,), 18),
        ("eventSerialNum", "unsigned int", (), 24),
        ("notifySerialNum", "unsigned int", (), 28),
        ("alarmRaisedTime", "unsigned long", (), 32),
        ("additionalParam", "unsigned char", (40,), 40),
        ("additionalInfo", "char", (32,), 80),
    )),
    "lq_dcmi_event_filter": ("struct", 20, 4, (
        ("filterFlag", "unsigned int", (), 0),
        ("eventTypeId", "unsigned int", (), 4),
        ("eventId", "unsigned int", (), 8),
        ("severity", "unsigned char", (), 12),
        ("chipId", "unsigned int", (), 16),
    )),
}

FUNCTIONS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    # Initialisation and versions.
    "dcmi_init": (LIBDCMI, ()),
    "dcmiv2_init": (LIBDCMI, ()),
    "dcmi_get_dcmi_version": (LIBDCMI, (("dcmi_ver", "char *"), ("len", "unsigned int"))),
    "dcmiv2_get_dcmi_version": (LIBDCMI, (("dcmi_ver", "char *"), ("len", "unsigned int"))),
    "dcmi_get_driver_version": (LIBDCMI, (("driver_ver", "char *"), ("len", "unsigned int"))),
    "dcmiv2_get_driver_version": (LIBDCMI, (("driver_ver", "char *"), ("len", "unsigned int"))),
    # Lists and conversions between ids.
    # Count, list, capacity here; the v2 list function wants list, count, capacity.
    "dcmi_get_card_list": (LIBDCMI, (
        ("card_num", "int *"), ("card_list", "int *"), ("list_len", "int"),
    )),
    "dcmi_get_card_num_list": (LIBDCMI, (
        ("card_num", "int *"), ("card_list", "int *"), ("list_len", "int"),
    )),
    "dcmi_get_device_num_in_card": (LIBDCMI, (("card_id", "int"), ("device_num", "int *"))),
    "dcmi_get_device_id_in_card": (LIBDCMI, (
        ("card_id", "int"), ("device_id_max", "int *"), ("mcu_id", "int *"), ("cpu_id", "int *"),
    )),
    "dcmi_get_device_type": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("device_type", "enum dcmi_unit_type *"),
    )),
    # The result comes first.
    "dcmi_get_device_logic_id": (LIBDCMI, (
        ("device_logic_id", "int *"), ("card_id", "int"), ("device_id", "int"),
    )),
    "dcmi_get_card_id_device_id_from_logicid": (LIBDCMI, (
        ("card_id", "int *"), ("device_id", "int *"), ("device_logic_id", "unsigned int"),
    )),
    "dcmi_get_card_id_device_id_from_phyid": (LIBDCMI, (
        ("card_id", "int *"), ("device_id", "int *"), ("device_phy_id", "unsigned int"),
    )),
    "dcmi_get_device_phyid_from_logicid": (LIBDCMI, (
        ("logicid", "unsigned int"), ("phyid", "unsigned int *"),
    )),
    "dcmi_get_device_logicid_from_phyid": (LIBDCMI, (
        ("phyid", "unsigned int"), ("logicid", "unsigned int *"),
    )),
    "dcmi_get_all_device_count": (LIBDCMI, (("all_device_count", "int *"),)),
    "dcmiv2_get_device_list": (LIBDCMI, (
        ("device_list", "int *"), ("device_cnt", "int *"), ("list_len", "int"),
    )),
    "dcmiv2_get_all_device_count": (LIBDCMI, (("all_device_count", "int *"),)),
    "dcmiv2_get_device_type": (LIBDCMI, (
        ("dev_id", "int"), ("device_type", "enum dcmi_unit_type *"),
    )),
    "dcmiv2_get_chip_phy_id_by_dev_id": (LIBDCMI, (
        ("dev_id", "unsigned int"), ("phyid", "unsigned int *"),
    )),
    "dcmiv2_get_dev_id_by_chip_phy_id": (LIBDCMI, (
        ("phyid", "unsigned int"), ("dev_id", "unsigned int *"),
    )),
    "dcmiv2_get_slot_id_and_chip_id_by_dev_id": (LIBDCMI, (
        ("dev_id", "int"), ("slot_id", "unsigned int *"), ("chip_id", "unsigned int *"),
    )),
    "dcmiv2_get_dev_id_by_slot_id_and_chip_id": (LIBDCMI, (
        ("slot_id", "unsigned int"), ("chip_id", "unsigned int"), ("dev_id", "int *"),
    )),
    # What a chip is.
    "dcmi_get_device_chip_info_v2": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("chip_info", "struct dcmi_chip_info_v2 *"),
    )),
    "dcmi_get_device_chip_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("chip_info", "struct dcmi_chip_info *"),
    )),
    # Quirk: writes 132 bytes, never the 100 of dcmi_chip_info.
    "dcmiv2_get_device_chip_info": (LIBDCMI, (
        ("dev_id", "int"), ("chip_info", "struct dcmi_chip_info_v2 *"),
    )),
    "dcmi_get_device_board_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("board_info", "struct dcmi_board_info *"),
    )),
    "dcmiv2_get_device_board_info": (LIBDCMI, (
        ("dev_id", "int"), ("board_info", "struct dcmi_board_info *"),
    )),
    "dcmi_get_mainboard_id": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("mainboard_id", "unsigned int *"),
    )),
    "dcmiv2_get_mainboard_id": (LIBDCMI, (("dev_id", "int"), ("mainboard_id", "unsigned int *"))),
    "dcmi_get_product_type": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("product_type_str", "char *"),
        ("buf_size", "int"),
    )),
    "dcmi_get_device_die_v2": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("input_type", "enum dcmi_die_type"),
        ("die_id", "struct dcmi_die_id *"),
    )),
    "dcmiv2_get_device_die_id": (LIBDCMI, (
        ("dev_id", "int"), ("input_type", "enum dcmi_die_type"),
        ("die_id", "struct dcmi_die_id *"),
    )),
    "dcmi_get_device_pcie_info_v2": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("pcie_info", "struct dcmi_pcie_info_all *"),
    )),
    "dcmiv2_get_device_pcie_info": (LIBDCMI, (
        ("dev_id", "int"), ("pcie_info", "struct dcmi_pcie_info_all *"),
    )),
    "dcmi_get_card_elabel_v2": (LIBDCMI, (
        ("card_id", "int"), ("elabel_info", "struct dcmi_elabel_info *"),
    )),
    "dcmiv2_get_device_elabel_info": (LIBDCMI, (
        ("dev_id", "int"), ("elabel_info", "struct dcmi_elabel_info *"),
    )),
    "dcmi_get_npu_work_mode": (LIBDCMI, (("card_id", "int"), ("work_mode", "unsigned char *"))),
    # Memory, utilisation, sensors, processes.
    "dcmi_get_device_hbm_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("hbm_info", "struct dcmi_hbm_info *"),
    )),
    "dcmiv2_get_device_hbm_info": (LIBDCMI, (
        ("dev_id", "int"), ("hbm_info", "struct dcmi_hbm_info *"),
    )),
    "dcmi_get_device_memory_info_v3": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"),
        ("memory_info", "struct dcmi_get_memory_info_stru *"),
    )),
    "dcmi_get_memory_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"),
        ("device_memory_info", "struct dcmi_memory_info_stru *"),
    )),
    "dcmi_get_device_utilization_rate": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("input_type", "int"),
        ("utilization_rate", "unsigned int *"),
    )),
    "dcmiv2_get_device_utilization_rate": (LIBDCMI, (
        ("dev_id", "int"), ("input_type", "int"), ("utilization_rate", "unsigned int *"),
    )),
    "dcmi_get_device_multi_utilization_rate": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"),
        ("util_info", "struct dcmi_multi_utilization_info *"),
    )),
    "dcmiv2_get_device_multi_utilization_rate": (LIBDCMI, (
        ("dev_id", "int"), ("util_info", "struct dcmi_multi_utilization_info *"),
    )),
    "dcmi_get_device_multi_utilization_rate_period": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"),
        ("util_info", "struct dcmi_multi_utilization_info *"), ("period", "int"),
    )),
    "dcmiv2_get_device_multi_utilization_rate_period": (LIBDCMI, (
        ("dev_id", "int"), ("util_info", "struct dcmi_multi_utilization_info *"),
        ("period", "int"),
    )),
    "dcmi_get_device_frequency": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("input_type", "enum dcmi_freq_type"),
        ("frequency", "unsigned int *"),
    )),
    "dcmiv2_get_device_frequency": (LIBDCMI, (
        ("dev_id", "int"), ("input_type", "enum dcmi_freq_type"), ("frequency", "unsigned int *"),
    )),
    "dcmi_get_device_temperature": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("temperature", "int *"),
    )),
    "dcmiv2_get_device_temperature": (LIBDCMI, (("dev_id", "int"), ("temperature", "int *"))),
    "dcmi_get_device_voltage": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("voltage", "unsigned int *"),
    )),
    "dcmiv2_get_device_voltage": (LIBDCMI, (("dev_id", "int"), ("voltage", "unsigned int *"))),
    "dcmi_get_device_power_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("power", "int *"),
    )),
    "dcmiv2_get_device_power_info": (LIBDCMI, (("dev_id", "int"), ("power", "int *"))),
    "dcmi_mcu_get_power_info": (LIBDCMI, (("card_id", "int"), ("power", "int *"))),
    "dcmi_get_device_ecc_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("input_type", "enum dcmi_device_type"),
        ("device_ecc_info", "struct dcmi_ecc_info *"),
    )),
    "dcmiv2_get_device_ecc_info": (LIBDCMI, (
        ("dev_id", "int"), ("input_type", "enum dcmi_device_type"),
        ("device_ecc_info", "struct dcmi_ecc_info *"),
    )),
    # Quirk: writes up to 64 entries without being told the capacity.
    "dcmi_get_device_resource_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("proc_info", "struct dcmi_proc_mem_info *"),
        ("proc_num", "int *"),
    )),
    "dcmiv2_get_device_proc_mem_info": (LIBDCMI, (
        ("dev_id", "int"), ("proc_info", "struct dcmi_proc_mem_info *"), ("proc_num", "int *"),
    )),
    # Health, fault codes, boot and network state.
    "dcmi_get_device_health": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("health", "unsigned int *"),
    )),
    "dcmiv2_get_device_health": (LIBDCMI, (("dev_id", "int"), ("health", "unsigned int *"))),
    "dcmi_get_device_errorcode_v2": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("error_count", "int *"),
        ("error_code_list", "unsigned int *"), ("list_len", "unsigned int"),
    )),
    "dcmiv2_get_device_error_code_list": (LIBDCMI, (
        ("dev_id", "int"), ("error_count", "int *"), ("error_code_list", "unsigned int *"),
        ("list_len", "unsigned int"),
    )),
    "dcmi_get_device_errorcode": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("error_count", "int *"),
        ("error_code", "unsigned int *"), ("error_width", "int *"),
    )),
    "dcmi_get_device_errorcode_string": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("error_code", "unsigned int"),
        ("error_info", "unsigned char *"), ("buf_size", "int"),
    )),
    "dcmiv2_get_device_error_info": (LIBDCMI, (
        ("dev_id", "int"), ("error_code", "unsigned int"), ("error_info", "unsigned char *"),
        ("buf_size", "int"),
    )),
    "dcmi_get_driver_health": (LIBDCMI, (("health", "unsigned int *"),)),
    "dcmiv2_get_driver_health": (LIBDCMI, (("health", "unsigned int *"),)),
    "dcmi_get_device_boot_status": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("boot_status", "enum dcmi_boot_status *"),
    )),
    "dcmiv2_get_device_boot_status": (LIBDCMI, (
        ("dev_id", "int"), ("boot_status", "enum dcmi_boot_status *"),
    )),
    "dcmi_get_device_network_health": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("result", "enum dcmi_rdfx_detect_result *"),
    )),
    "dcmiv2_get_device_network_health": (LIBDCMI, (
        ("dev_id", "int"), ("result", "enum dcmi_rdfx_detect_result *"),
    )),
    # Fault events.
    "dcmi_subscribe_fault_event": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("filter", "struct dcmi_event_filter"),
        ("handler", "void (*)(struct dcmi_event *)"),
    )),
    "dcmiv2_subscribe_fault_event": (LIBDCMI, (
        ("dev_id", "int"), ("filter", "struct dcmi_event_filter"),
        ("handler", "void (*)(struct dcmi_event *)"),
    )),
    "dcmi_get_fault_event": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("timeout", "int"),
        ("filter", "struct dcmi_event_filter"), ("event", "struct dcmi_event *"),
    )),
    "dcmiv2_get_fault_event": (LIBDCMI, (
        ("dev_id", "int"), ("timeout", "int"), ("filter", "struct dcmi_event_filter"),
        ("event", "struct dcmi_event *"),
    )),
    "dcmiv2_get_device_current_fault_event": (LIBDCMI, (
        ("dev_id", "int"), ("event_buf", "struct dcmi_event *"), ("input_event_buf_length", "int"),
        ("output_event_cnt", "int *"),
    )),
    "dcmi_get_device_current_fault_event": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("event_buf", "struct dcmi_event *"),
        ("input_event_buf_length", "int"), ("output_event_cnt", "int *"),
    )),
    # The generic information channel, virtual NPUs, device share.
    "dcmi_get_device_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("main_cmd", "enum dcmi_main_cmd"),
        ("sub_cmd", "unsigned int"), ("buf", "void *"), ("size", "unsigned int *"),
    )),
    "dcmiv2_get_device_info": (LIBDCMI, (
        ("dev_id", "int"), ("main_cmd", "enum dcmi_main_cmd"), ("sub_cmd", "unsigned int"),
        ("buf", "void *"), ("size", "unsigned int *"),
    )),
    "dcmi_set_device_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("main_cmd", "enum dcmi_main_cmd"),
        ("sub_cmd", "unsigned int"), ("buf", "const void *"), ("buf_size", "unsigned int"),
    )),
    "dcmiv2_set_device_info": (LIBDCMI, (
        ("dev_id", "int"), ("main_cmd", "enum dcmi_main_cmd"), ("sub_cmd", "unsigned int"),
        ("buf", "const void *"), ("buf_size", "unsigned int"),
    )),
    "dcmi_create_vdevice": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("vdev", "struct dcmi_create_vdev_res_stru *"),
        ("out", "struct dcmi_create_vdev_out *"),
    )),
    "dcmi_set_destroy_vdevice": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("vdevid", "unsigned int"),
    )),
    "dcmi_set_vdevice_mode": (LIBDCMI, (("mode", "int"),)),
    "dcmi_get_vdevice_mode": (LIBDCMI, (("mode", "int *"),)),
    "dcmi_set_device_share_enable": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("enable_flag", "int"),
    )),
    "dcmi_get_device_share_enable": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("enable_flag", "int *"),
    )),
    "dcmiv2_set_device_share_enable": (LIBDCMI, (
        ("dev_id", "int"), ("enable_flag", "unsigned int"),
    )),
    "dcmiv2_get_device_share_enable": (LIBDCMI, (
        ("dev_id", "int"), ("enable_flag", "unsigned int *"),
    )),
    "dcmi_set_device_share_config_recover_mode": (LIBDCMI, (("enable_flag", "unsigned int"),)),
    "dcmi_get_device_share_config_recover_mode": (LIBDCMI, (("enable_flag", "unsigned int *"),)),
    # Reset.
    "dcmi_set_device_reset": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("channel_type", "enum dcmi_reset_channel"),
    )),
    "dcmiv2_reset_device": (LIBDCMI, (
        ("dev_id", "int"), ("channel_type", "enum dcmi_reset_channel"),
    )),
    "dcmi_get_device_outband_channel_state": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("channel_state", "int *"),
    )),
    "dcmiv2_get_device_outband_channel_state": (LIBDCMI, (
        ("dev_id", "int"), ("channel_state", "int *"),
    )),
    "dcmi_pre_reset_soc": (LIBDCMI, (("card_id", "int"), ("device_id", "int"))),
    "dcmi_set_device_pre_reset": (LIBDCMI, (("card_id", "int"), ("device_id", "int"))),
    "dcmiv2_pre_reset_device": (LIBDCMI, (("dev_id", "int"),)),
    "dcmi_rescan_soc": (LIBDCMI, (("card_id", "int"), ("device_id", "int"))),
    "dcmi_set_device_rescan": (LIBDCMI, (("card_id", "int"), ("device_id", "int"))),
    "dcmiv2_rescan_device": (LIBDCMI, (("dev_id", "int"),)),
    "dcmi_get_netdev_brother_device": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("brother_card_id", "int *"),
    )),
    "dcmi_get_multi_die_policy": (LIBDCMI, (("policy", "enum dcmi_multi_die_policy *"),)),
    "dcmi_set_multi_die_policy": (LIBDCMI, (("policy", "enum dcmi_multi_die_policy"),)),
    # Addresses, topology, links, super-pod, UB.
    "dcmi_get_device_ip": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("input_type", "enum dcmi_port_type"),
        ("port_id", "int"), ("ip", "struct dcmi_ip_addr *"), ("mask", "struct dcmi_ip_addr *"),
    )),
    "dcmi_get_device_gateway": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("input_type", "enum dcmi_port_type"),
        ("port_id", "int"), ("gateway", "struct dcmi_ip_addr *"),
    )),
    "dcmi_get_device_mac_count": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("count", "int *"),
    )),
    "dcmi_get_device_mac": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("mac_id", "int"), ("mac_addr", "char *"),
        ("len", "unsigned int"),
    )),
    "dcmiv2_get_netdev_ip": (LIBDCMI, (
        ("dev_id", "int"), ("netdev_name", "const char *"), ("netdev_name_len", "unsigned int"),
        ("ip", "struct dcmi_ip_addr *"), ("mask", "struct dcmi_ip_addr *"),
    )),
    "dcmiv2_get_device_netdev_list_info": (LIBDCMI, (
        ("dev_id", "int"), ("netdev_list", "struct dcmi_netdev_list_info *"),
    )),
    "dcmi_get_spod_node_status": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("sdid", "unsigned int"),
        ("status", "unsigned int *"),
    )),
    "dcmi_set_spod_node_status": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("sdid", "unsigned int"),
        ("status", "unsigned int"),
    )),
    "dcmi_get_topo_info_by_device_id": (LIBDCMI, (
        ("card_id1", "int"), ("device_id1", "int"), ("card_id2", "int"), ("device_id2", "int"),
        ("topo_type", "int *"),
    )),
    "dcmiv2_get_topo_info_by_device_id": (LIBDCMI, (
        ("dev_id1", "int"), ("dev_id2", "int"), ("topo_type", "int *"),
    )),
    # Quirk: writes up to 32 bytes without being told the capacity.
    "dcmi_get_affinity_cpu_info_by_device_id": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("affinity_cpu", "char *"), ("length", "int *"),
    )),
    "dcmiv2_get_affinity_cpu_info_by_dev_id": (LIBDCMI, (
        ("dev_id", "int"), ("affinity_cpu", "char *"), ("len", "int *"),
    )),
    "dcmi_get_hccs_link_bandwidth_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"),
        ("hccs_bandwidth_info", "struct dcmi_hccs_bandwidth_info *"),
    )),
    "dcmi_get_pcie_link_bandwidth_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"),
        ("pcie_link_bandwidth_info", "struct dcmi_pcie_link_bandwidth_info *"),
    )),
    "dcmiv2_get_pcie_link_bandwidth_info": (LIBDCMI, (
        ("dev_id", "int"), ("pcie_link_bandwidth_info", "struct dcmi_pcie_link_bandwidth_info *"),
    )),
    "dcmi_start_hccsping_mesh": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("port_id", "int"),
        ("hccsping_mesh", "struct dcmi_hccsping_mesh_operate *"),
    )),
    "dcmi_stop_hccsping_mesh": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("port_id", "int"), ("task_id", "unsigned int"),
    )),
    "dcmi_get_hccsping_mesh_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("port_id", "int"), ("task_id", "unsigned int"),
        ("hccsping_mesh_reply", "struct dcmi_hccsping_mesh_info *"),
    )),
    "dcmi_get_hccsping_mesh_state": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("port_id", "int"), ("task_id", "unsigned int"),
        ("state", "unsigned int *"),
    )),
    "dcmi_get_urma_device_cnt": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("dev_cnt", "unsigned int *"),
    )),
    "dcmi_get_eid_list_by_urma_dev_index": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("dev_index", "unsigned int"),
        ("eid_list", "struct dcmi_urma_eid_info *"), ("eid_cnt", "unsigned int *"),
    )),
    "dcmiv2_get_urma_device_cnt": (LIBDCMI, (("dev_id", "int"), ("dev_cnt", "unsigned int *"))),
    "dcmiv2_get_eid_list_by_urma_dev_index": (LIBDCMI, (
        ("dev_id", "int"), ("dev_index", "unsigned int"),
        ("eid_list", "struct dcmi_urma_eid_info *"), ("eid_cnt", "unsigned int *"),
    )),
    "dcmiv2_get_port_pkt_stats_info": (LIBDCMI, (
        ("dev_id", "int"), ("ub_port_info", "struct dcmi_ub_port_info *"),
        ("port_pkt_stats_info", "struct dcmi_port_pkt_stats_info *"),
    )),
    "dcmiv2_get_ub_port_link_status": (LIBDCMI, (
        ("dev_id", "int"), ("ub_status", "struct dcmi_ub_port_link_status *"),
    )),
    "dcmiv2_get_device_port_list_info": (LIBDCMI, (
        ("dev_id", "int"), ("port_list_info", "struct dcmi_port_list_info *"),
    )),
    "dcmi_start_ub_ping_mesh": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("count", "int"),
        ("ubping_mesh", "struct dcmi_ub_ping_mesh_operate *"),
    )),
    "dcmi_stop_ub_ping_mesh": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("task_id", "int"),
    )),
    "dcmi_get_ub_ping_mesh_info": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("task_id", "int"),
        ("ub_ping_mesh_reply", "struct dcmi_ub_ping_mesh_info *"), ("mesh_reply_size", "int"),
        ("count", "int *"),
    )),
    "dcmi_get_ub_ping_mesh_state": (LIBDCMI, (
        ("card_id", "int"), ("device_id", "int"), ("task_id", "int"), ("state", "unsigned int *"),
    )),
    "dcmiv2_start_ub_ping_mesh": (LIBDCMI, (
        ("dev_id", "int"), ("count", "int"), ("ubping_mesh", "struct dcmi_ub_ping_mesh_operate *"),
    )),
    "dcmiv2_stop_ub_ping_mesh": (LIBDCMI, (("dev_id", "int"), ("task_id", "int"))),
    "dcmiv2_get_ub_ping_mesh_info": (LIBDCMI, (
        ("dev_id", "int"), ("task_id", "int"),
        ("ub_ping_mesh_reply", "struct dcmi_ub_ping_mesh_info *"), ("mesh_reply_size", "int"),
        ("count", "int *"),
    )),
    "dcmiv2_get_ub_ping_mesh_state": (LIBDCMI, (
        ("dev_id", "int"), ("task_id", "int"), ("state", "unsigned int *"),
    )),
    "dcmiv2_start_ubping_mesh": (LIBDCMI, (
        ("dev_id", "int"), ("ubping_mesh", "struct dcmi_ubping_mesh_params *"),
    )),
    "dcmiv2_get_ubping_mesh_info": (LIBDCMI, (
        ("dev_id", "int"), ("ubping_mesh_reply", "struct dcmi_ubping_mesh_info *"),
    )),
    "dcmiv2_get_ubping_mesh_state": (LIBDCMI, (("dev_id", "int"), ("state", "unsigned int *"))),
    "dcmiv2_stop_ubping_mesh": (LIBDCMI, (("dev_id", "int"),)),
    # The Lingqu switch library (A3).
    "lq_dcmi_init": (LIBLINGQU, ()),
    "lq_dcmi_subscribe_fault_event": (LIBLINGQU, (
        ("filter", "struct lq_dcmi_event_filter"), ("handler", "void (*)(struct LqDcmiEvent *)"),
    )),
    "lq_dcmi_get_fault_info": (LIBLINGQU, (
        ("listLen", "unsigned int"), ("eventListLen", "unsigned int *"),
        ("eventList", "struct LqDcmiEvent *"),
    )),
}

VARIANTS: dict[
    str, tuple[str, tuple[str, int, int, tuple[tuple[str, str, tuple[int, ...], int], ...]]]
] = {
    # what the published driver writes
    "dcmi_ecc_info_short": ("dcmi_ecc_info", ("struct", 28, 4, (
        ("enable_flag", "int", (), 0),
        ("single_bit_error_cnt", "unsigned int", (), 4),
        ("double_bit_error_cnt", "unsigned int", (), 8),
        ("total_single_bit_error_cnt", "unsigned int", (), 12),
        ("total_double_bit_error_cnt", "unsigned int", (), 16),
        ("single_bit_isolated_pages_cnt", "unsigned int", (), 20),
        ("double_bit_isolated_pages_cnt", "unsigned int", (), 24),
    ))),
    # headers before the 16-bit module types
    "dcmi_dms_fault_event_old": ("dcmi_dms_fault_event", ("struct", 352, 8, (
        ("event_id", "unsigned int", (), 0),
        ("deviceid", "unsigned short", (), 4),
        ("node_type", "unsigned char", (), 6),
        ("node_id", "unsigned char", (), 7),
        ("sub_node_type", "unsigned char", (), 8),
        ("sub_node_id", "unsigned char", (), 9),
        ("severity", "unsigned char", (), 10),
        ("assertion", "unsigned char", (), 11),
        ("event_serial_num", "int", (), 12),
        ("notify_serial_num", "int", (), 16),
        ("alarm_raised_time", "unsigned long long", (), 24),
        ("event_name", "char", (256,), 32),
        ("additional_info", "char", (32,), 288),
        ("resv", "unsigned char", (32,), 320),
    ))),
    # headers before chassis and pod type
    "dcmi_spod_info_old": ("dcmi_spod_info", ("struct", 48, 4, (
        ("sdid", "unsigned int", (), 0),
        ("super_pod_size", "unsigned int", (), 4),
        ("super_pod_id", "unsigned int", (), 8),
        ("server_index", "unsigned int", (), 12),
        ("reserve", "unsigned int", (8,), 16),
    ))),
    # headers before per-vNPU use
    "dcmi_computing_resource_old": ("dcmi_computing_resource", ("struct", 96, 8, (
        ("aic", "float", (), 0),
        ("aiv", "float", (), 4),
        ("dsa", "unsigned short", (), 8),
        ("rtsq", "unsigned short", (), 10),
        ("acsq", "unsigned short", (), 12),
        ("cdqm", "unsigned short", (), 14),
        ("c_core", "unsigned short", (), 16),
        ("ffts", "unsigned short", (), 18),
        ("sdma", "unsigned short", (), 20),
        ("pcie_dma", "unsigned short", (), 22),
        ("memory_size", "unsigned long long", (), 24),
        ("event_id", "unsigned int", (), 32),
        ("notify_id", "unsigned int", (), 36),
        ("stream_id", "unsigned int", (), 40),
        ("model_id", "unsigned int", (), 44),
        ("topic_schedule_aicpu", "unsigned short", (), 48),
        ("host_ctrl_cpu", "unsigned short", (), 50),
        ("host_aicpu", "unsigned short", (), 52),
        ("device_aicpu", "unsigned short", (), 54),
        ("topic_ctrl_cpu_slot", "unsigned short", (), 56),
        ("reserved", "unsigned char", (32,), 58),
    ))),
    # a caller's header; its port_mode holds the port number
    "dcmi_port_pkt_stats_info_mode": ("dcmi_port_pkt_stats_info", ("struct", 520, 8, (
        ("port_mode", "int", (), 0),
        ("ub_ipv4_pkt_cnt_rx", "unsigned long long", (), 8),
        ("ub_ipv6_pkt_cnt_rx", "unsigned long long", (), 16),
        ("unic_ipv4_pkt_cnt_rx", "unsigned long long", (), 24),
        ("unic_ipv6_pkt_cnt_rx", "unsigned long long", (), 32),
        ("ub_compact_pkt_cnt_rx", "unsigned long long", (), 40),
        ("ub_umoc_ctph_cnt_rx", "unsigned long long", (), 48),
        ("ub_umoc_ntph_cnt_rx", "unsigned long long", (), 56),
        ("ub_mem_pkt_cnt_rx", "unsigned long long", (), 64),
        ("unknown_pkt_cnt_rx", "unsigned long long", (), 72),
        ("drop_ind_cnt_rx", "unsigned long long", (), 80),
        ("err_ind_cnt_rx", "unsigned long long", (), 88),
        ("to_host_pkt_cnt_rx", "unsigned long long", (), 96),
        ("to_imp_pkt_cnt_rx", "unsigned long long", (), 104),
        ("to_mar_pkt_cnt_rx", "unsigned long long", (), 112),
        ("to_link_pkt_cnt_rx", "unsigned long long", (), 120),
        ("to_noc_pkt_cnt_rx", "unsigned long long", (), 128),
        ("route_err_cnt_rx", "unsigned long long", (), 136),
        ("out_err_cnt_rx", "unsigned long long", (), 144),
        ("length_err_cnt_rx", "unsigned long long", (), 152),
        ("rx_busi_flit_num", "unsigned long long", (), 160),
        ("rx_send_ack_flit", "unsigned long long", (), 168),
        ("ub_ipv4_pkt_cnt_tx", "unsigned long long", (), 176),
        ("ub_ipv6_pkt_cnt_tx", "unsigned long long", (), 184),
        ("unic_ipv4_pkt_cnt_tx", "unsigned long long", (), 192),
        ("unic_ipv6_pkt_cnt_tx", "unsigned long long", (), 200),
        ("ub_compact_pkt_cnt_tx", "unsigned long long", (), 208),
        ("ub_umoc_ctph_cnt_tx", "unsigned long long", (), 216),
        ("ub_umoc_ntph_cnt_tx", "unsigned long long", (), 224),
        ("ub_mem_pkt_cnt_tx", "unsigned long long", (), 232),
        ("unknown_pkt_cnt_tx", "unsigned long long", (), 240),
        ("drop_ind_cnt_tx", "unsigned long long", (), 248),
        ("err_ind_cnt_tx", "unsigned long long", (), 256),
        ("lpbk_ind_cnt_tx", "unsigned long long", (), 264),
        ("out_err_cnt_tx", "unsigned long long", (), 272),
        ("length_err_cnt_tx", "unsigned long long", (), 280),
        ("tx_busi_flit_num", "unsigned long long", (), 288),
        ("tx_recv_ack_flit", "unsigned long long", (), 296),
        ("retry_req_sum", "unsigned long long", (), 304),
        ("retry_ack_sum", "unsigned long long", (), 312),
        ("crc_error_sum", "unsigned long long", (), 320),
        ("core_mib_rxpausepkts", "unsigned long long", (), 328),
        ("core_mib_txpausepkts", "unsigned long long", (), 336),
        ("core_mib_rxpfcpkts", "unsigned long long", (), 344),
        ("core_mib_txpfcpkts", "unsigned long long", (), 352),
        ("core_mib_rxbadpkts", "unsigned long long", (), 360),
        ("core_mib_txbadpkts", "unsigned long long", (), 368),
        ("core_mib_rxbadoctets", "unsigned long long", (), 376),
        ("core_mib_txbadoctets", "unsigned long long", (), 384),
        ("reserved", "unsigned long long", (16,), 392),
    ))),
}

LIMITS: dict[str, int] = {
    "max_cards": 64,
    "max_devices_per_card": 4,
    "max_error_codes": 128,
    "max_proc_written": 64,
    "max_vdev": 32,
    "chip_name_len": 32,
    "template_name_len": 32,
    "vdev_name_len": 16,
    "die_id_words": 5,
    "affinity_len": 32,
    "version_len_min": 16,
    "product_type_len_min": 32,
    "eid_max": 32,
    "eid_size": 16,
    "hccs_pcs": 16,
    "pingmesh_targets": 48,
    "event_timeout_ms_max": 30000,
    "event_current_max": 128,
    "vdev_id_min": 100,
    "vdev_id_end": 1124,
    "destroy_all_vdev": 0xFFFF,
    "reset_all_card": 0xFF,
    "invalid_u32": 0xFFFFFFFF,
}

SUB_CMD: dict[str, dict[str, int]] = {
    "CHIP_INF": {"SPOD_INFO": 1, "SPOD_NODE_STATUS": 2},
    "HCCS": {"STATUS": 0, "LANE_INFO": 1, "STATISTIC": 3, "STATISTIC_U64": 5},
    "VDEV_MNG": {
        "VDEV_RESOURCE": 0, "TOTAL_RESOURCE": 1, "FREE_RESOURCE": 2, "SRIOV_SWITCH": 3,
        "VDEV_ACTIVITY": 5,
    },
    "SIO": {"CRC_ERR_STATISTICS": 0},
    "PCIE": {"ERROR_INFO": 1},
    "DEVICE_SHARE": {"COMMON": 0},
}

ENUMS: dict[str, dict[str, int]] = {
    "dcmi_main_cmd": {
        "DVPP": 0, "LP": 8, "TS": 11, "CHIP_INF": 12, "QOS": 13, "SOC_INFO": 14, "HCCS": 16,
        "TEMP": 50, "SVM": 51, "VDEV_MNG": 52, "SEC": 53, "PCIE": 55, "SIO": 56,
        "EX_COMPUTING": 0x8000, "DEVICE_SHARE": 0x8001, "EX_CERT": 0x8003,
    },
    "dcmi_unit_type": {"NPU": 0, "MCU": 1, "CPU": 2, "INVALID": 0xFF},
    "dcmi_die_type": {"NDIE": 0, "VDIE": 1, "DDIE": 2, "INVALID": 3},
    "dcmi_reset_channel": {"OUTBAND": 0, "INBAND": 1},
    "dcmi_boot_status": {"UNINIT": 0, "BIOS": 1, "OS": 2, "FINISH": 3, "SYSTEM_START_FINISH": 16},
    "dcmi_port_type": {"VNIC": 0, "ROCE": 1, "INVALID": 2},
    "dcmi_ip_addr_type": {"V4": 0, "V6": 1, "ANY": 2},
    "dcmi_event_type": {"DMS_FAULT": 0},
    "dcmi_multi_die_policy": {"UNION": 0, "INDEP": 1, "MAX": 2},
    "dcmi_device_type": {
        "DDR": 0, "SRAM": 1, "HBM": 2, "NPU": 3, "HBM_SINGLE_ADDR": 4, "HBM_MULTI_ADDR": 5,
        "NONE": 0xFF,
    },
    "dcmi_freq_type": {
        "DDR": 1, "CTRLCPU": 2, "HBM": 6, "AICORE_CURRENT": 7, "AICORE_MAX": 9,
        "VECTORCORE_CURRENT": 12,
    },
    "utilization_type": {
        "DDR": 1, "AICORE": 2, "AICPU": 3, "CTRLCPU": 4, "DDR_BANDWIDTH": 5, "HBM": 6,
        "HBM_BANDWIDTH": 10, "VECTORCORE": 12, "NPU": 13, "AICUBE": 14,
    },
    "dcmi_rdfx_detect_result": {
        "OK": 0, "SOCK_FAIL": 1, "RECV_TIMEOUT": 2, "UNREACH": 3, "TIME_EXCEEDED": 4, "FAULT": 5,
        "INIT": 6, "THREAD_ERR": 7, "IP_SET": 8, "MAX": 0xFF,
    },
    "health": {
        "OK": 0, "MINOR": 1, "MAJOR": 2, "CRITICAL": 3, "UNKNOWN": 4, "NOT_EXIST": 0xFFFFFFFF,
    },
    "severity": {"WARNING": 0, "MINOR": 1, "MAJOR": 2, "CRITICAL": 3},
    "assertion": {"RECOVER": 0, "OCCUR": 1, "ONCE": 2},
    "topo_type": {
        "SELF": 0, "SYS": 1, "PHB": 2, "HCCS": 3, "PXB": 4, "PIX": 5, "SIO": 6, "HCCS_SW": 7,
        "UB": 8, "UNKNOWN": 9,
    },
    "event_filter_flag": {"EVENT_ID": 1, "SEVERITY": 2, "NODE_TYPE": 4},
}
