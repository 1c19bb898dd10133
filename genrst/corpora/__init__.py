"""Named corpora as published: their files, splits and annotation."""
