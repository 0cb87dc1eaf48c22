import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Pool } from 'pg'
import { PostgresServer } from '../../test/support/postgres-server.ts'
import { BareCreates } from './bare-creates.ts'
import { createCategories, EvidenceCreator, openBenchRegistry } from '../workload/registry.ts'
import { writingWith, type Store, type Writing } from '../workload/writing.ts'

/** What people would pick instead to write records, each used as its documentation shows. */

/** What a create wrote when the comparison began: eight keys, 1.96 kB. It stays, although a create writes less now. */
const [KEYS, KEY_BYTES, VALUE_BYTES] = [8, 52, 193]
export const RECORD_BYTES = KEYS * (KEY_BYTES + VALUE_BYTES)

/** Random to its half, as the values of `db_bench`. */
const records = (size: number): Buffer[] =>
  Array.from({ length: size }, () => Buffer.concat([randomBytes(RECORD_BYTES / 2), Buffer.alloc(RECORD_BYTES / 2)]))

/** The arguments of `db_bench`. It counts keys. */
const dbBenchArgs = (db: string, { size, width, seconds }: Writing): readonly string[] => [
  '--benchmarks=overwrite,flush',
  `--db=${db}`,
  '--use_existing_db=1',
  '--sync=1',
  `--threads=${width}`,
  `--batch_size=${KEYS * size}`,
  `--key_size=${KEY_BYTES}`,
  `--value_size=${VALUE_BYTES}`,
  '--num=100000000',
  `--duration=${Math.ceil(seconds)}`,
]

const HASH_CHAIN = `
  CREATE TABLE chain (position bigint PRIMARY KEY, record bytea NOT NULL, hash bytea NOT NULL);
  CREATE FUNCTION link() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE last record;
    BEGIN
      PERFORM pg_advisory_xact_lock(1);
      SELECT position, hash INTO last FROM chain ORDER BY position DESC LIMIT 1;
      NEW.position := coalesce(last.position, 0) + 1;
      NEW.hash := sha256(coalesce(last.hash, '') || NEW.record);
      RETURN NEW;
    END $$;
  CREATE TRIGGER link BEFORE INSERT ON chain FOR EACH ROW EXECUTE FUNCTION link()`

interface HypercoreModule {
  readonly default: new (folder: string) => {
    append(blocks: readonly Uint8Array[]): Promise<unknown>
    close(): Promise<void>
  }
}

/** The first one is what the others are compared with. */
export const STORES = {
  Registry: {
    title: 'this registry: creates',
    lacks: '–',
    async open() {
      const bench = await openBenchRegistry()
      const [category = ['', '']] = await createCategories(bench)
      return { write: new EvidenceCreator(bench).writerTo(category), close: () => bench.close() }
    },
  },
  RocksDb: {
    title: "RocksDB's db_bench",
    lacks: 'validation, hashes, index, history, proof; it writes random bytes',
    from: 'apt-get install rocksdb-tools',
    async open(directory: string) {
      const db = join(directory, 'rocksdb')
      const run = (...args: readonly string[]) => promisify(execFile)('db_bench', args)
      await run('--benchmarks=fillseq', '--num=1', `--db=${db}`)
      return {
        async write(writing: Writing) {
          const { stdout } = await run(...dbBenchArgs(db, writing))
          const [, seconds, keys] = /^overwrite .* ([\d.]+) seconds (\d+) operations/m.exec(stdout) ?? []
          return { completed: Number(keys) / KEYS, seconds: Number(seconds) }
        },
        close: async () => undefined,
      }
    },
  },
  LevelDb: {
    title: 'bare LevelDB loop',
    lacks: 'all but the reads, hashes and writes of a create',
    open: (directory: string) => BareCreates.open(join(directory, 'leveldb')),
  },
  Postgres: {
    title: 'PostgreSQL table with a hash chain',
    lacks: 'validation, salted fields, index by field, signed tree, proof for others',
    async open() {
      const settings = ['synchronous_commit=on', 'shared_buffers=256MB']
      const server = await PostgresServer.start({ synced: true, settings })
      await server.query(HASH_CHAIN)
      // More connections make it slower: one row is committed after the other.
      const pool = new Pool({ connectionString: server.url(), max: 16 })
      // `end` does not wait until the server knows, so the server ends some connections itself.
      pool.on('error', () => undefined)
      const insert = 'INSERT INTO chain (record) SELECT unnest($1::bytea[])'
      return {
        write: writingWith((size) => pool.query(insert, [records(size)])),
        close: async () => {
          await pool.end()
          await server.stop()
        },
      }
    },
  },
  Hypercore: {
    title: 'hypercore 11',
    lacks: 'validation, salted fields, index, sync to disk',
    from: 'npm install --no-save hypercore@11',
    async open(directory: string) {
      const name = 'hypercore'
      const { default: Hypercore }: HypercoreModule = await import(name)
      const core = new Hypercore(join(directory, 'hypercore'))
      return { write: writingWith((size) => core.append(records(size))), close: () => core.close() }
    },
  },
} satisfies Record<string, Store>
