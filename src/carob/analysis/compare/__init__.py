"""Better or worse, and how sure: runs held against each other, gates, baselines, history."""
