import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The server in a process of its own. */
export interface Service {
  readonly baseUrl: string
  readonly operatorKey: string
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 60_000
/** Lines of output that are shown if the start fails. */
const SHOWN_LINES = 20

/** Starts the server with its data in `dataDir`, on a free port of this machine, and waits until it is ready. */
export async function startService(dataDir: string, signal: AbortSignal): Promise<Service> {
  const operatorKey = randomBytes(32).toString('base64url')
  const child = spawn(process.execPath, programArguments('main'), {
    env: {
      ...withoutSettings(),
      EVIDENCE_PORT: '0',
      EVIDENCE_DATA_DIR: dataDir,
      EVIDENCE_OPERATOR_KEY: operatorKey,
      EVIDENCE_SEAL_MAX_WAIT_MS: '1000',
      // It verifies every proof from one address.
      EVIDENCE_ADDRESS_LIMIT_PER_MINUTE: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const keepLine = (line: string): void => {
    lines.push(line)
    if (lines.length > SHOWN_LINES) lines.shift()
  }
  createInterface({ input: child.stderr }).on('line', keepLine)
  try {
    const url = await readyUrl(child, keepLine, signal)
    return { baseUrl: `${url}/api/v1`, operatorKey, stop: () => stop(child) }
  } catch (error) {
    await stop(child)
    signal.throwIfAborted()
    throw new Error(`The server did not start. Its last lines:\n${lines.join('\n')}`, { cause: error })
  }
}

/** Node's arguments for a program of the server. From sources, it runs with the same loader as this process. */
export function programArguments(name: 'main' | 'cli'): readonly string[] {
  const isBuilt = import.meta.url.endsWith('.js')
  const path = fileURLToPath(new URL(isBuilt ? `../${name}.js` : `../${name}.ts`, import.meta.url))
  return isBuilt ? [path] : [...process.execArgv, path]
}

/** The settings of the user must not reach the demo's server. */
export const withoutSettings = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('EVIDENCE_')))

function readyUrl(child: ChildProcess, keepLine: (line: string) => void, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    const timer = setTimeout(() => reject(new Error(`Not ready after ${START_TIMEOUT_MS} ms`)), START_TIMEOUT_MS)
    child.once('error', reject)
    child.once('exit', (code, killedBy) => {
      clearTimeout(timer)
      reject(new Error(`It ended with ${killedBy ?? code}`))
    })
    // Reads on after the ready line, because a full pipe would block the server.
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      keepLine(line)
      const url = urlInReadyLine(line)
      if (url === undefined) return
      clearTimeout(timer)
      resolve(url)
    })
  })
}

function urlInReadyLine(line: string): string | undefined {
  try {
    const { url, msg }: { readonly url?: unknown; readonly msg?: unknown } = JSON.parse(line)
    return msg === 'ready' && typeof url === 'string' ? url : undefined
  } catch {
    return undefined
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}
