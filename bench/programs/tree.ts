import { TREE_BUILDERS } from '../peers/npm-trees.ts'
import { measureTree } from '../workload/tree-measurement.ts'

/**
 * `tree NAME COUNT`: measures one implementation at one size, in a process of its own, and writes the result as JSON.
 */
const [name = '', count] = process.argv.slice(2)
const builder = TREE_BUILDERS[name]?.()
if (builder === undefined) throw new Error(`unknown implementation: ${name}`)
console.log(JSON.stringify(await measureTree(builder, Number(count))))
await builder.close?.()
