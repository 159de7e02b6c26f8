package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// pollPause is between two looks at an empty table: PostgreSQL has no receive that waits.
const pollPause = 5 * time.Millisecond

// postgresPeer is a table. A receive opens a transaction that locks its rows and skips those of
// others; the settle deletes them and commits.
type postgresPeer struct {
	task Task
	conn *pgx.Conn
	name string
}

func newPostgres(task Task) (Peer, error) {
	conn, err := dialPostgres(task)
	return &postgresPeer{task, conn, pgx.Identifier{task.Queue}.Sanitize()}, err
}

func dialPostgres(task Task) (*pgx.Conn, error) {
	return pgx.Connect(context.Background(), "postgres://bench@"+task.Address+"/postgres")
}

func (p *postgresPeer) Create() error {
	_, err := p.conn.Exec(context.Background(), "CREATE TABLE IF NOT EXISTS "+p.name+
		" (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL)")
	return err
}

func (p *postgresPeer) Remove() error {
	_, err := p.conn.Exec(context.Background(), "DROP TABLE "+p.name)
	return err
}

func (p *postgresPeer) Close() { p.conn.Close(context.Background()) }

func (p *postgresPeer) open() (*postgresLine, error) {
	conn, err := dialPostgres(p.task)
	return &postgresLine{
		conn:   conn,
		insert: "INSERT INTO " + p.name + " (body) SELECT unnest($1::text[])",
		choose: "SELECT id, body FROM " + p.name + " ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED",
		remove: "DELETE FROM " + p.name + " WHERE id = ANY($1)",
	}, err
}

func (p *postgresPeer) Sender() (Sender, error) { return p.open() }

func (p *postgresPeer) Receiver(batch int) (Receiver, error) {
	line, err := p.open()
	line.batch = batch
	return line, err
}

type postgresLine struct {
	conn   *pgx.Conn
	insert string
	choose string
	remove string
	batch  int
	open   pgx.Tx
	closed atomic.Bool
}

func (l *postgresLine) Send(numbers []int) error {
	bodies := make([]string, 0, len(numbers))
	for _, number := range numbers {
		bodies = append(bodies, string(appendBody(nil, number)))
	}
	_, err := l.conn.Exec(context.Background(), l.insert, bodies)
	return err
}

func (l *postgresLine) Receive(wait time.Duration) ([]Message, error) {
	deadline := time.Now().Add(wait)
	for !l.closed.Load() {
		messages, err := l.look()
		if err != nil || len(messages) > 0 || time.Now().After(deadline) {
			return messages, err
		}
		time.Sleep(pollPause)
	}
	return nil, l.conn.Close(context.Background())
}

func (l *postgresLine) look() ([]Message, error) {
	ctx := context.Background()
	tx, err := l.conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, l.choose, l.batch)
	if err != nil {
		return nil, err
	}
	var messages []Message
	var id int64
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		number, err := numberOf(body)
		messages = append(messages, Message{number, id})
		return err
	})
	if err != nil || len(messages) == 0 {
		tx.Rollback(ctx)
		return nil, err
	}
	l.open = tx
	return messages, nil
}

func (l *postgresLine) Settle(messages []Message) error {
	ids := make([]int64, 0, len(messages))
	for _, each := range messages {
		ids = append(ids, each.receipt.(int64))
	}
	ctx := context.Background()
	done, err := l.open.Exec(ctx, l.remove, ids)
	if err != nil {
		return err
	}
	if int(done.RowsAffected()) != len(messages) {
		return errPartly
	}
	return l.open.Commit(ctx)
}

func (l *postgresLine) Flush(int) error { return nil }

// Close only tells: the connection may be in use, and is closed by the one that uses it or with
// the process.
func (l *postgresLine) Close() { l.closed.Store(true) }
