(** Every promise by its name, and what it assumes: compiling this file prints the axioms, which must be those of the
    real numbers and no others. *)
From Inbounds Require Import Exp Privacy Matrix Noise Neighbours Response Blocks Prime Designs Passport Kinds Together Ledger Alias Integral Scores
  Tight Depth ScoreCheck Lengths Sides Central Joint Sizes Counts Quantile Graph Plane Approximate Threshold.

From Inbounds Require Rounding.

Definition everything :=
  (@exp_below_sound, @ratio_below_sound, @exp_below_is_loop,
   (@post_processing, @randomised_post_processing, @composition, @compose_distribution, @group_privacy),
   (@check_product_sound, @law_private, @law_distribution, @check_states_sound),
   (@check_noise_sound, @noise_pointwise, @noise_distribution),
   (@response_weights, @response_pointwise, @response_distribution),
   (@one_place, @block_words, @blocks_pointwise, @blocks_distribution),
   (@is_prime_sound, @fermat, @affine_covers, @subset_covers, @plane_covers, @design_covers, @design_holding),
   (@weights_pointwise, @passport_pointwise, @passport_private, @passport_distribution),
   (@count_promise, @open_count_promise, @total_promise, @open_total_promise, @mean_promise, @plain_mean_promise,
    @extreme_promise, @category_promise, @ordinal_promise, @interval_promise, @interval_promise_computed),
   (@groups_private, @parallel_composition, @persons_private, @persons_reach_private, @pair_private, @passport_per_unit),
   (@charge_within, @rounded_up, @rounded_down, @ledger_promise),
   (@approx_excess, @private_approx, @approx_post, @approx_followed_by, @approx_composition, @approx_group),
   (@check_approx_sound, @floored_sound, @both_ledger_promise, @delta_passport, @delta_distribution),
   (@check_threshold_sound, @threshold_distribution, @nobody_unreported, @threshold_passport),
   (@alias_law, @small_place, @tail_value),
   (@flip_formula, @flip_sums_to, @flip_square, @flip_tight),
   (@stays_fraction, @moves_fraction, @index_words, @halves, @levels_pairs, @scores_private),
   (@lengths_lipschitz, @length_zero, @persons_lengths, @depth_exists, @quantile_promise,
    @open_minimum_promise, @open_maximum_promise),
   (@flip_product, @moved_pairs, @sides_promise),
   (@window_moves, @consume_spec, @central_promise, @answer_promise, @central_distribution),
   (@quantile_scores, @quantile_passport, @sided_passport, @central_passport, @answer_private),
   (@level_replaced, @level_true, @depth_replaced, @depth_last, @weight_replaced, @joint_pointwise, @joint_promise, @several_passport),
   (@shares_move, @over_extended, @sizes_promise, @over_sizes_passport),
   (@counts_step, @cells_moved, @counts_promise, @counts_passport),
   (@Rounding.pick_near, @Rounding.chain_near, @Rounding.rounding_paid, @Rounding.roundings_fit, @Rounding.sampler_paid,
    @Rounding.computes_near, @Rounding.powers_counted, @Rounding.sums_counted, @Rounding.coin_counted, @Rounding.picks_counted,
    @Rounding.stage_counted),
   (@check_edges_sound, @path_private, @graph_promise, @passport_graph),
   (@gathered, @check_plane_sound, @plane_pointwise, @plane_distribution),
   (@map_edges, @map_private, @map_promise, @map_distribution)).

Print Assumptions everything.
