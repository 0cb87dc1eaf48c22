import { createContext, runInContext, SourceTextModule, SyntheticModule, type Context, type Module } from 'node:vm'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/**
 * Runs the module that the first argument names in a context of its own, as Jest and the vm pools of vitest run tests:
 * modules of dist/ are of that realm; Node's own, installed packages, and the values that `run` gets are of this one.
 * Needs `--experimental-vm-modules` and `--experimental-import-meta-resolve`.
 */
const [, , program = '', directory = ''] = process.argv
const built = new URL('../../../', import.meta.url).href
const modules = new Map<string, Promise<Module>>()

/** The globals of Node that a new context lacks. */
const context: Context = createContext()
const own = new Set(runInContext('Object.getOwnPropertyNames(globalThis)', context) as string[])
for (const name of Object.getOwnPropertyNames(globalThis))
  if (!own.has(name) && name !== 'global') context[name] = Reflect.get(globalThis, name)

const load = (url: string): Promise<Module> => {
  const known = modules.get(url)
  if (known !== undefined) return known
  const loading = url.startsWith(built) ? loadBuilt(url) : loadInstalled(url)
  modules.set(url, loading)
  return loading
}

async function loadBuilt(url: string): Promise<Module> {
  return new SourceTextModule(await readFile(fileURLToPath(url), 'utf8'), {
    identifier: url,
    context,
    initializeImportMeta: (meta) => void (meta.url = url),
    importModuleDynamically: async (specifier) => evaluated(await load(import.meta.resolve(specifier, url))),
  })
}

async function loadInstalled(url: string): Promise<Module> {
  const namespace = (await import(url)) as Readonly<Record<string, unknown>>
  const names = Object.keys(namespace)
  return new SyntheticModule(
    names,
    function (this: SyntheticModule) {
      for (const name of names) this.setExport(name, namespace[name])
    },
    { identifier: url, context },
  )
}

async function evaluated(module: Module): Promise<Module> {
  if (module.status === 'unlinked')
    await module.link((specifier, { identifier }) => load(import.meta.resolve(specifier, identifier)))
  await module.evaluate()
  return module
}

const { namespace } = await evaluated(await load(program))
const { run } = namespace as { readonly run: (options: unknown) => Promise<void> }
await run({ directory, Date, Uint8Array, meta: { of: ['another', { realm: true }] } })
