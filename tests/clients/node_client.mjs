// The official JavaScript client against KUBECONFIG in NAMESPACE; prints what it saw as JSON (tests/e2e/test_clients.py).
// node node_client.mjs PACKAGES KUBECONFIG NAMESPACE
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';

const [packages, kubeconfig, namespace] = process.argv.slice(2);
const k8s = createRequire(`${packages}/`)('@kubernetes/client-node');
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(k8s.CoreV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);

const configMap = (name, data) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { app: 'node' } }, data });
const patched = (name, body, type) =>
  core.patchNamespacedConfigMap({ name, namespace, body }, k8s.setHeaderOptions('Content-Type', type));

async function createdAndPatched() {
  const made = await core.createNamespacedConfigMap({ namespace, body: configMap('one', { a: '1' }) });
  const strategic = await patched('one', { data: { b: '2' } }, k8s.PatchStrategy.StrategicMergePatch);
  const operations = await patched('one', [{ op: 'remove', path: '/data/a' }], k8s.PatchStrategy.JsonPatch);
  const merged = await patched('one', { data: { c: '3', b: null } }, k8s.PatchStrategy.MergePatch);
  let refused = 0;
  try {
    await core.patchNamespacedConfigMap({ name: 'one', namespace, body: { data: { x: 'y' } } });  // says JSON patch
  } catch (problem) {
    refused = problem.code;
  }
  const applied = await objects.create(configMap('generic', { a: '1' }));
  const read = await objects.read({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'generic', namespace } });
  return {
    made: made.data, strategic: strategic.data, operations: operations.data, merged: merged.data, refused,
    generic: applied.metadata.uid === read.metadata.uid,
  };
}

async function listedInPages() {
  for (let index = 0; index < 5; index += 1) {
    await core.createNamespacedConfigMap({ namespace, body: configMap(`page-${index}`, {}) });
  }
  const pages = [];
  let token;
  do {
    const page = await core.listNamespacedConfigMap({ namespace, labelSelector: 'app=node', limit: 3, _continue: token });
    pages.push(page.items.map((item) => item.metadata.name));
    token = page.metadata._continue;
  } while (token);
  return pages;
}

// The next `count` events after a revision.
function watched(resourceVersion, count) {
  return new Promise((resolve, reject) => {
    const events = [];
    let last;
    new k8s.Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`, { resourceVersion, labelSelector: 'app=node', timeoutSeconds: 20 },
      (type, object) => {
        if (events.length === count) return;
        last = object.metadata?.resourceVersion;
        events.push(type === 'ERROR' ? `${type} ${object.code}` : `${type} ${object.metadata.name}`);
        if (events.length === count) resolve({ events, last });
      },
      (problem) => (events.length === count ? resolve({ events, last }) : reject(problem ?? new Error('the watch ended'))),
    ).then((controller) => setTimeout(() => controller.abort(), 21000).unref(), reject);
  });
}

async function watchedWithResume() {
  const start = (await core.listNamespacedConfigMap({ namespace })).metadata.resourceVersion;
  await core.createNamespacedConfigMap({ namespace, body: configMap('seen', { a: '1' }) });
  await patched('seen', { data: { a: '2' } }, k8s.PatchStrategy.MergePatch);
  await core.deleteNamespacedConfigMap({ name: 'seen', namespace });
  const first = await watched(start, 2);
  const then = await watched(first.last, 1);
  return { first: first.events, then: then.events };
}

// An informer lists, watches, and lists again by itself.
async function informed() {
  const list = () => core.listNamespacedConfigMap({ namespace, labelSelector: 'app=node' });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list, 'app=node');
  const names = new Set();
  const done = new Promise((resolve) => {
    informer.on('add', (object) => {
      names.add(object.metadata.name);
      if (names.has('late')) resolve();
    });
  });
  await informer.start();
  await core.createNamespacedConfigMap({ namespace, body: configMap('late', {}) });
  await done;
  await informer.stop();
  return [...names].sort();
}

class Text extends Writable {
  text = '';
  _write(chunk, _encoding, done) {
    this.text += chunk;
    done();
  }
}

async function executedAndLogged() {
  const spec = {
    restartPolicy: 'Never', terminationGracePeriodSeconds: 1,
    containers: [{ name: 'c', image: 'busybox', command: ['sh', '-c', 'echo hello; sleep 60'] }],
  };
  await core.createNamespacedPod({ namespace, body: { metadata: { name: 'talker' }, spec } });
  for (;;) {
    const pod = await core.readNamespacedPod({ name: 'talker', namespace });
    if (pod.status.phase === 'Running') break;
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
  const out = new Text();
  const err = new Text();
  const status = await new Promise((resolve, reject) => {
    new k8s.Exec(config).exec(namespace, 'talker', 'c', ['sh', '-c', 'echo out; echo err >&2; exit 3'], out, err, null, false, resolve)
      .catch(reject);
  });
  const log = new Text();
  await new k8s.Log(config).log(namespace, 'talker', 'c', log, { follow: false });
  await new Promise((resolve) => { log.once('finish', resolve); if (log.text) resolve(); });
  await core.deleteNamespacedPod({ name: 'talker', namespace, gracePeriodSeconds: 0 });
  return { out: out.text, err: err.text, status: status.status, causes: status.details?.causes, log: log.text };
}

async function deleted() {
  await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'app=node' });
  try {
    await core.readNamespacedConfigMap({ name: 'one', namespace });
    return 200;
  } catch (problem) {
    return problem.code;
  }
}

const seen = await createdAndPatched();
seen.pages = await listedInPages();
seen.watch = await watchedWithResume();
seen.informed = await informed();
seen.exec = await executedAndLogged();
seen.deleted = await deleted();
console.log(JSON.stringify(seen));
process.exit(0);
