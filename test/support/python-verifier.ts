import { execFile, spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'

/** The verifier in Python: a second implementation, made from the specification alone. */
const SCRIPT = resolve('test/services/independent/verify.py')
/** The program itself, because `python3` can be a script that looks for it, which takes longer than most runs. */
const found = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
export const python = found.status === 0 ? found.stdout.trim() : ''
const hasTools = python !== '' && spawnSync('openssl', ['version']).status === 0
/** Why the tests of the verifier in Python are skipped, or `false`. */
export const skipPython = hasTools ? false : 'python3 and openssl are needed'

export interface PythonRun {
  readonly code: number | null
  readonly stdout: string
}

/** Compiles the verifier into a directory, once for all its runs there. Returns its path, and how to run it. */
export function compilePythonVerifier(directory: string) {
  const compiled = join(directory, 'verify.pyc')
  const program = `import py_compile, sys; py_compile.compile(sys.argv[1], sys.argv[2], doraise=True)`
  const { status, stderr } = spawnSync(python, ['-c', program, SCRIPT, compiled], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`verify.py cannot be compiled: ${stderr}`)
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<PythonRun> =>
    new Promise((done) => {
      const child = execFile(python, [compiled, ...args], { env: { ...process.env, ...env } }, (_, stdout) =>
        done({ code: child.exitCode, stdout }),
      )
    })
  return { compiled, run }
}
