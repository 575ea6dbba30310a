"""Rows: sorted, pooled by equal prediction, cut into blocks and buckets."""
