import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isSource, modulePath } from './repository.ts'

/** How often the output of a starting process is read. */
const POLL_MS = 50

interface ChildOptions {
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** A pipe, or an open file descriptor. */
  readonly stdout?: 'pipe' | number
  /** For `requestOf`: the child can receive and send messages. */
  readonly hasMessages?: boolean
}

/** Starts Node with a module, given by its path from `bench/` or by an absolute path. */
export function startChild(module: string, args: readonly string[], options: ChildOptions = {}): ChildProcess {
  const loader =
    isSource && module.endsWith('.ts') ? ['--conditions=source', '--import', import.meta.resolve('tsx')] : []
  const path = module.startsWith('/') ? module : modulePath(module)
  const spawnOptions: SpawnOptions = {
    stdio: ['ignore', options.stdout ?? 'pipe', 'inherit', ...(options.hasMessages === true ? ['ipc' as const] : [])],
    // eslint-disable-next-line node/no-process-env -- passed on to the child
    env: { ...process.env, ...options.env },
  }
  return spawn(process.execPath, [...loader, path, ...args], spawnOptions)
}

/** Runs a module to its end and returns the JSON that it wrote to stdout. Throws if it fails or exceeds `timeoutMs`. */
export async function runChild<T>(module: string, args: readonly string[], timeoutMs = 600_000): Promise<T> {
  const child = startChild(module, args)
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  if (code !== 0) throw new Error(`${module} ${args.join(' ')} ended with ${code ?? 'a signal'}`)
  return JSON.parse(output)
}

/** Waits for the next message of a child with `hasMessages`. Throws if the child ends first. */
export async function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onClose = (code: number | null): void => reject(new Error(`the child ended with ${code ?? 'a signal'}`))
    child.once('close', onClose).once('message', (message: unknown) => {
      child.off('close', onClose)
      // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the caller says what its child sends
      resolve(message as T)
    })
  })
}

/** Sends a message to a child, and waits for the next one that it sends back. */
export function requestOf<T>(child: ChildProcess, request: object | string): Promise<T> {
  const message = nextMessage<T>(child)
  child.send(request)
  return message
}

/**
 * Waits for a pattern in the file that a child writes to and returns its first group. Throws if the child ends first.
 */
async function waitForOutput(path: string, child: ChildProcess, pattern: RegExp): Promise<string> {
  for (;;) {
    const output = await readFile(path, 'utf8')
    const [, match] = pattern.exec(output) ?? []
    if (match !== undefined) return match
    const end = child.exitCode ?? child.signalCode
    if (end !== null) throw new Error(`the child ended with ${end}: ${output.slice(-2_000)}`)
    await delay(POLL_MS)
  }
}

/** A running server process. */
export interface ServerProcess {
  readonly child: ChildProcess
  /** `http://host:port` */
  readonly url: string
}

export interface ServerProgram {
  /** The folder of its log file. */
  readonly directory: string
  readonly module: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Starts a server and waits until it logs its URL. Its stdout goes to a file: through a pipe, a server that logs each
 * request would wait for the client that measures it.
 */
export async function startServer({ directory, module, args = [], env = {} }: ServerProgram): Promise<ServerProcess> {
  const path = join(directory, `${module.replaceAll(/[^a-z]/g, '')}.log`)
  const file = await open(path, 'w')
  const child = startChild(module, args, { env, stdout: file.fd })
  await file.close()
  return { child, url: await waitForOutput(path, child, /"url":"(http[^"]+)"/) }
}

/** Ends a child with SIGTERM and waits for its end. */
export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill('SIGTERM')
  await closed
}
