import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import { logDestination, oncePerTurn, readableLine } from '../../../server/startup/logger.ts'
import { moduleUrl, nodeFlags } from '../../support/repository.ts'

const time = '2026-01-02T03:04:05.678Z'
const clock = new Date(time).toTimeString().slice(0, 8)

it('shows time, level, message and fields on one line', () => {
  const fields = { url: 'http://[::1]:8080', count: 3, text: 'a b', none: null, list: ['x'] }
  const line = readableLine(JSON.stringify({ level: 30, time, ...fields, msg: 'ready' }))
  assert.equal(line, `${clock} info  ready  url=http://[::1]:8080  count=3  text="a b"  none=null  list=["x"]\n`)
})

it('shows the stack of an error below the line', () => {
  const line = readableLine(JSON.stringify({ level: 50, time, err: { stack: 'Error: x\n    at y' }, msg: 'failed' }))
  assert.equal(line, `${clock} ERROR failed\n    Error: x\n        at y\n`)
})

describe('lines of one turn of the event loop', () => {
  function collect() {
    const writes: string[] = []
    return { writes, destination: oncePerTurn({ write: (lines) => void writes.push(lines) }) }
  }

  it('are written together, in their order', async () => {
    const { writes, destination } = collect()
    for (const line of ['a\n', 'b\n', 'c\n']) destination.write(line)
    assert.deepEqual(writes, [])
    await setImmediate()
    destination.write('d\n')
    await setImmediate()
    assert.deepEqual(writes, ['a\nb\nc\n', 'd\n'])
  })

  it('are written at once from 16 KiB on', async () => {
    const { writes, destination } = collect()
    for (let i = 0; i < 40; i++) destination.write('x'.repeat(1024))
    assert.deepEqual(
      writes.map(({ length }) => length),
      [16_384, 16_384],
    )
    await setImmediate()
    assert.equal(writes[2]?.length, 8_192)
  })

  it('are written before the process ends', () => {
    const module = moduleUrl('server/startup/logger.ts').href
    const program = `
      import { createLogger } from ${JSON.stringify(module)}
      createLogger('info').info('the last line')
      process.exit(3)`
    const args = [...nodeFlags, '--input-type=module', '--eval', program]
    const { status, stdout } = spawnSync(process.execPath, args)
    assert.deepEqual([status, JSON.parse(stdout.toString()).msg], [3, 'the last line'])
  })
})

describe('a log that cannot be written', () => {
  const FD = 4_711
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })

  /** A log to a disk that may be full, as the module for files sees it. */
  function openLog(t: TestContext) {
    const disk = { hasRoom: false, written: '' }
    const { writeSync } = fs
    t.mock.method(fs, 'writeSync', (fd: number, text: string) => {
      if (fd !== FD) return writeSync(fd, text)
      if (!disk.hasRoom) throw full
      disk.written += text
      return Buffer.byteLength(text)
    })
    const errors: string[] = []
    const destination = logDestination(FD, (text) => void errors.push(text))
    const logger = pino({ base: null, timestamp: false }, destination)
    const written = (): readonly number[] => Array.from(disk.written.matchAll(/"i":(\d+)/g), ([, i]) => Number(i))
    return { disk, errors, logger, written }
  }

  it('keeps its lines until it can be, and shows the error once each time', (t) => {
    const { disk, errors, logger, written } = openLog(t)
    for (let i = 0; i < 5; i++) logger.info({ i })
    disk.hasRoom = true
    logger.info({ i: 5 })
    assert.deepEqual(written(), [0, 1, 2, 3, 4, 5])
    disk.hasRoom = false
    logger.info({ i: 6 })
    assert.deepEqual(
      errors,
      Array(2).fill(`evidence-registry: the log cannot be written: ${full.message}. Free space on its disk\n`),
    )
  })

  it('loses lines beyond 64 KiB, and none after it can be written again', (t) => {
    const { disk, logger, written } = openLog(t)
    for (let i = 0; i < 100; i++) logger.info({ i }, 'x'.repeat(1_000))
    disk.hasRoom = true
    // The first one only makes room.
    for (let i = 100; i < 110; i++) logger.info({ i })
    assert.ok(disk.written.length < 70_000)
    assert.deepEqual(
      written().slice(0, 50),
      Array.from({ length: 50 }, (_, i) => i),
    )
    assert.deepEqual(written().slice(-9), [101, 102, 103, 104, 105, 106, 107, 108, 109])
  })
})
