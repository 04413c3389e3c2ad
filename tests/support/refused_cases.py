"""ONNX node tests of our operators that rules refuse, by reason; each framework's suite takes the groups it refuses."""

from __future__ import annotations

# A key/value cache belongs to inference.
CACHE = frozenset(
    {
        "test_attention_3d_diff_heads_with_past_and_present",
        "test_attention_3d_gqa_with_past_and_present",
        "test_attention_3d_with_past_and_present",
        "test_attention_3d_with_past_and_present_qk_matmul",
        "test_attention_3d_with_past_and_present_qk_matmul_bias",
        "test_attention_3d_with_past_and_present_qk_matmul_softmax",
        "test_attention_4d_causal_nonpad_attn_mask_composition",
        "test_attention_4d_causal_nonpad_batch_prefill",
        "test_attention_4d_causal_nonpad_continued_prefill",
        "test_attention_4d_causal_nonpad_negative_offset_structural_empty",
        "test_attention_4d_causal_with_past_and_present",
        "test_attention_4d_diff_heads_mask4d_padded_kv",
        "test_attention_4d_diff_heads_with_past_and_present",
        "test_attention_4d_diff_heads_with_past_and_present_mask3d",
        "test_attention_4d_diff_heads_with_past_and_present_mask4d",
        "test_attention_4d_gqa_causal_nonpad_decode",
        "test_attention_4d_gqa_with_past_and_present",
        "test_attention_4d_with_past_and_present",
        "test_attention_4d_with_past_and_present_qk_matmul",
        "test_attention_4d_with_past_and_present_qk_matmul_bias",
        "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask",
        "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal",
        "test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask",
        "test_attention_4d_with_past_and_present_qk_matmul_bias_4d_mask_causal",
        "test_attention_local_window_ext_cache_rank2_mask",
        "test_attention_local_window_ext_cache_rank3_head_mask",
        "test_attention_local_window_ext_cache_rank4_batch_mask",
        "test_attention_local_window_with_past",
    }
)
# Capped attention scores are not needed by any model builder.
SOFTCAP = frozenset(
    {
        "test_attention_3d_diff_heads_sizes_softcap",
        "test_attention_3d_gqa_softcap",
        "test_attention_3d_softcap",
        "test_attention_3d_with_past_and_present_qk_matmul_softcap",
        "test_attention_4d_diff_heads_sizes_softcap",
        "test_attention_4d_gqa_softcap",
        "test_attention_4d_softcap",
        "test_attention_4d_softcap_neginf_mask",
        "test_attention_4d_softcap_neginf_mask_poison",
        "test_attention_4d_with_qk_matmul_softcap",
        "test_attention_local_window_gqa_rank4_mask",
    }
)
# Attention scores as an output belong to debugging.
SCORES = frozenset(
    {
        "test_attention_23_fullymasked_qk_matmul_output_mode3_zero",
        "test_attention_24_fullymasked_qk_matmul_output_mode3_zero",
        "test_attention_4d_with_qk_matmul",
        "test_attention_4d_with_qk_matmul_bias",
        "test_attention_4d_with_qk_matmul_softmax",
    }
)
# Where a maximum was is not needed by any model builder.
INDICES = frozenset(
    {
        "test_maxpool_with_argmax_2d_precomputed_pads",
        "test_maxpool_with_argmax_2d_precomputed_strides",
    }
)
# A Split whose parts are counted from its outputs ended with operator set 18.
SPLIT = frozenset(
    {
        "test_split_equal_parts_1d_opset13",
        "test_split_equal_parts_2d_opset13",
        "test_split_equal_parts_default_axis_opset13",
    }
)
