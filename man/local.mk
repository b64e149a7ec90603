# man: one page per tool; the OPTIONS sections and nn-layers(7) come from the tables
