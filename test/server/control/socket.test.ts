import assert from 'node:assert/strict'
import { once } from 'node:events'
import { stat, writeFile } from 'node:fs/promises'
import { request, Server, ServerResponse, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import Type, { type TSchema } from '#typebox'
import { RegistryError } from '../../../core/index.ts'
import { controlPath } from '../../../server/control/address.ts'
import { callServer } from '../../../server/control/client.ts'
import type { ControlOperation, OperationRun } from '../../../server/control/operation.ts'
import { openControlSocket } from '../../../server/control/server.ts'
import { loadConfig } from '../../../server/settings/load.ts'
import { openConfiguredRegistry } from '../../../server/startup/registry.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { recordingLogger } from '../../support/recording-logger.ts'

type AnyOperation = ControlOperation<TSchema, unknown>

const operation = (name: string, run: (args: unknown, run: OperationRun) => Promise<unknown>): AnyOperation => ({
  name,
  opens: 'writable',
  args: Type.Object({ a: Type.Optional(Type.String()) }, { additionalProperties: false }),
  run: (_, args, each) => run(args, each),
})

/** Resolves never, but rejects with the signal. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

async function openFixture(t: TestContext, operations: readonly AnyOperation[], dataDir?: string) {
  const directory = dataDir ?? (await temporaryFor(t))
  const config = loadConfig({ args: ['--data-dir', directory, '--tsa', 'none', '--anchor', 'none'], env: {} })
  const { logger, warnings } = recordingLogger()
  const opened = await openConfiguredRegistry(config, logger)
  const control = await openControlSocket({ context: { ...opened, config, logger }, operations })
  let isClosed = false
  const close = async (): Promise<void> => {
    if (!isClosed) await control.close()
    isClosed = true
  }
  t.after(async () => {
    await close()
    await opened.registry.close()
  })
  return { directory, path: join(directory, 'control.sock'), warnings, close }
}

const noProgress = (): void => undefined

/** Sends a request and returns the status and everything that the server sends as the body. */
async function exchange(socketPath: string, path: string, body: string, method = 'POST') {
  const call = request({ socketPath, path, method, agent: false }).end(body)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  return { status: response.statusCode, body: await text(response) }
}

/** Sends a request for an operation, and resolves when the response has begun. */
async function begin(socketPath: string, path: string): Promise<ClientRequest> {
  const call = request({ socketPath, path, method: 'POST', agent: false }).end('{}')
  call.on('error', () => undefined)
  await once(call, 'response')
  return call
}

it('runs an operation with its arguments, and passes on its progress and its result', async (t) => {
  const echo = operation('echo', async (args, { report }) => {
    for (const done of [1, 2]) report({ stage: 'count', done })
    return { args }
  })
  const { path } = await openFixture(t, [echo])
  const seen: unknown[] = []
  const response = await callServer(path, { name: 'echo', args: { a: 'ä\n' } }, (progress) => seen.push(progress))
  assert.deepEqual(response, { result: { args: { a: 'ä\n' } } })
  assert.deepEqual(seen, [
    { stage: 'count', done: 1 },
    { stage: 'count', done: 2 },
  ])
})

it('only the owner can connect, and closing removes the socket', async (t) => {
  const { path, close } = await openFixture(t, [])
  const stats = await stat(path)
  assert.ok(stats.isSocket())
  assert.equal(stats.mode & 0o777, 0o600)
  await close()
  await assert.rejects(stat(path), { code: 'ENOENT' })
  assert.equal(await callServer(path, { name: 'echo', args: {} }, noProgress), undefined)
})

it('passes on the code and the text of an error', async (t) => {
  const fail = operation('fail', () => Promise.reject(new RegistryError('CORRUPT', 'restore it')))
  const crash = operation('crash', () => Promise.reject(new TypeError('a defect')))
  const { path } = await openFixture(t, [fail, crash])
  const call = (name: string) => callServer(path, { name, args: {} }, noProgress)
  await assert.rejects(call('fail'), { code: 'CORRUPT', message: 'restore it' })
  await assert.rejects(call('crash'), { code: 'INTERNAL', message: 'a defect' })
  await assert.rejects(call('other'), { code: 'VALIDATION_ERROR', message: /does not know this command/ })
})

it('rejects what is not a request', async (t) => {
  const { path } = await openFixture(t, [operation('echo', async () => ({}))])
  for (const [url, body, method = 'POST'] of [
    ['/echo', 'x'],
    ['/echo', ''],
    ['/echo', '[]'],
    ['/echo', '{"a":1}'],
    ['/echo', '{"b":""}'],
    ['/echo', '{"a":"","a":""}'],
    ['/echo', JSON.stringify({ a: 'x'.repeat(70_000) })],
    ['/other', '{}'],
    ['/', '{}'],
    ['/echo', '', 'GET'],
  ] as const) {
    const response = await exchange(path, url, body, method)
    assert.match(response.body, /^\{"error":"[^\n]*","code":"VALIDATION_ERROR"\}\n$/, body.slice(0, 80))
    assert.equal(response.status, 400)
  }
  assert.deepEqual(await exchange(path, '/echo', '{}'), { status: 200, body: '{"result":{}}\n' })
})

it('a client that disconnects cancels its operation', async (t) => {
  let aborted = 0
  const wait = operation('wait', async (_, { report, signal }) => {
    report({ stage: 'wait', done: 0 })
    await untilAborted(signal).finally(() => (aborted += 1))
  })
  const { path } = await openFixture(t, [wait])
  ;(await begin(path, '/wait')).destroy()
  await eventually(() => aborted === 1)
})

it('a server that stops waits for the operation of a client that has left', async (t) => {
  let isAborted = false
  let end = (): void => undefined
  const wait = operation('wait', async (_, { report, signal }) => {
    report({ stage: 'wait', done: 0 })
    await untilAborted(signal).catch(() => (isAborted = true))
    // It cannot stop at once.
    await new Promise<void>((resolve) => (end = resolve))
  })
  const { path, close } = await openFixture(t, [wait])
  ;(await begin(path, '/wait')).destroy()
  await eventually(() => isAborted)
  let isClosed = false
  const closed = close().then(() => (isClosed = true))
  await delay(50)
  assert.equal(isClosed, false)
  end()
  await closed
})

it('goes on after a connection that could not be accepted', async (t) => {
  const listen = t.mock.method(Server.prototype, 'listen')
  const { path, warnings } = await openFixture(t, [operation('echo', async () => ({}))])
  const server = listen.mock.calls[0]?.this
  assert.ok(server instanceof Server)
  server.emit('error', new Error('accept ENOMEM'))
  assert.deepEqual(warnings, ['a command could not be accepted'])
  assert.equal((await exchange(path, '/echo', '{}')).body, '{"result":{}}\n')
})

it('a server that stops cancels the operations, and does not wait for silent clients', async (t) => {
  const wait = operation('wait', (_, { report, signal }) => {
    report({ stage: 'wait', done: 0 })
    return untilAborted(signal)
  })
  const { path, close } = await openFixture(t, [wait])
  const silent = ['', 'POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{'].map(async (bytes) => {
    const socket = connect(path)
    socket.on('error', () => undefined).resume()
    await once(socket, 'connect')
    socket.write(bytes)
    await once(socket, 'close')
  })
  const call = callServer(path, { name: 'wait', args: {} }, () => void close())
  await assert.rejects(call, { code: 'CLOSED' })
  await close()
  await Promise.all(silent)
})

it('a server that stops does not wait longer for a client that does not read', async (t) => {
  // As if the time had passed.
  t.mock.method(ServerResponse.prototype, 'setTimeout', function (this: ServerResponse, _: number, end: () => void) {
    setImmediate(end)
    return this
  })
  let isRunning = false
  const large = operation('large', async (_, { signal }) => {
    isRunning = true
    return untilAborted(signal).catch(() => 'x'.repeat(10_000_000))
  })
  const { path, close } = await openFixture(t, [large])
  const socket = connect(path).on('error', () => undefined)
  socket.write('POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}')
  await eventually(() => isRunning)
  await close()
})

it('a server that ends during an operation leaves its outcome unknown', async (t) => {
  const directory = await temporaryFor(t)
  const { createServer } = await import('node:net')
  const server = createServer((socket) => socket.once('data', () => socket.destroy()))
  const path = join(directory, 'control.sock')
  server.listen(path)
  await once(server, 'listening')
  t.after(() => server.close())
  await assert.rejects(callServer(path, { name: 'seal', args: {} }, noProgress), { code: 'UNKNOWN_OUTCOME' })
})

it('a file with the name of the socket is not removed, and the server works without the socket', async (t) => {
  const directory = await temporaryFor(t)
  await writeFile(join(directory, 'control.sock'), 'notes')
  const { warnings } = await openFixture(t, [], directory)
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', /accepts no commands: .*control\.sock is not a socket/)
  assert.equal((await stat(join(directory, 'control.sock'))).size, 5)
})

it('a path that is too long is named with the limit and the remedy', () => {
  assert.equal(controlPath('data', 'linux'), join('data', 'control.sock'))
  const longest = 'x'.repeat(80)
  assert.equal(controlPath(longest, 'linux'), join(longest, 'control.sock'))
  const tooLong = { code: 'CONFIG_ERROR', message: /at most 10[37] bytes, but .* has 11[0-9]: .*shorter path/ }
  assert.throws(() => controlPath('x'.repeat(100), 'linux'), tooLong)
  // The limit counts bytes, not characters.
  assert.throws(() => controlPath('ä'.repeat(50), 'linux'), tooLong)
  assert.throws(() => controlPath('data', 'win32'), { code: 'CONFIG_ERROR', message: /Windows/ })
})
