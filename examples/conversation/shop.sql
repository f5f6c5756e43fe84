create table orders (id text primary key, customer text not null, item text not null, state text not null, usd real not null);
insert into orders values
    ('1042', 'nora', 'desk lamp', 'late', 39.90),
    ('1043', 'nora', 'wool rug', 'delivered', 120.00),
    ('1044', 'omar', 'bookshelf', 'sent', 89.00);
create table refunds (order_id text not null, usd real not null);
