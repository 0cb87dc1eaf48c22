import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A module of this folder in a process of its own, from source or from the build as we are. */
export function startChild(module: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const isSource = import.meta.url.endsWith('.ts')
  const path = fileURLToPath(new URL(isSource ? module : module.replace(/\.ts$/, '.js'), import.meta.url))
  return spawn(process.execPath, [...(isSource ? ['--import', 'tsx'] : []), path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // eslint-disable-next-line node/no-process-env -- handed on
    env: { ...process.env, ...env },
  })
}

/** Runs a module to its end; answers the JSON that it wrote to stdout. Throws where it failed or took longer than `timeoutMs`. */
export async function runChild<T>(module: string, args: readonly string[], timeoutMs = 600_000): Promise<T> {
  const child = startChild(module, args)
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  if (code !== 0) throw new Error(`${module} ${args.join(' ')} ended with ${code ?? 'a signal'}`)
  return JSON.parse(out) as T
}

/** The first match of a pattern in what the child writes to stdout, which is read to its end. */
export function saidBy(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let out: string | undefined = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (out === undefined) return
      out += text
      const [, found] = pattern.exec(out) ?? []
      if (found === undefined) return
      out = undefined
      resolve(found)
    })
    child.once('close', (code) => reject(new Error(`the child ended with ${code ?? 'a signal'}`)))
  })
}

export async function stopChild(child: ChildProcess): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGTERM')
  await closed
}
