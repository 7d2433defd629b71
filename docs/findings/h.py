import http.client, json, os, signal, subprocess, sys, threading, time, shutil, urllib.parse
BIN='/tmp/attack/wardian'
class S:
    def __init__(s, name, port, keys=False, *sets, fresh=True):
        s.name, s.port, s.keys, s.sets = name, port, keys, list(sets)
        s.dir=f'/tmp/attack/{name}'
        if fresh: shutil.rmtree(s.dir, ignore_errors=True)
        os.makedirs(s.dir, exist_ok=True)
        s.k={}
        if keys:
            for t in ('alice','bob'):
                o=subprocess.run([BIN,'keys','create','--tenant',t,'--name',t,'--data-dir',s.dir+'/data','--json'],capture_output=True,text=True)
                if o.returncode: print(o.stdout,o.stderr)
                s.k[t]=json.loads(o.stdout)['key']
            s.sets.append('auth.mode=keys')
        s.start()
    def start(s):
        cmd=['nice','-n','5',BIN,'serve','--listen',f'127.0.0.1:{s.port}','--data-dir',s.dir+'/data']
        for x in s.sets: cmd+=['--set',x]
        s.p=subprocess.Popen(cmd,stdout=open(s.dir+'/out','a'),stderr=open(s.dir+'/err','a'))
        t=time.time()
        while time.time()-t<240:
            if s.p.poll() is not None: raise SystemExit('server ended: '+open(s.dir+'/err').read()[-1500:])
            try:
                st,h,b=s.req('GET','/readyz',timeout=5)
                if st==200: return s
            except OSError: pass
            time.sleep(.3)
        raise SystemExit('not ready')
    def pid(s):
        return s.p.pid
    def rss(s,pid=None):
        for l in open(f'/proc/{pid or s.p.pid}/status'):
            if l.startswith('VmRSS'): return int(l.split()[1])//1024
    def stop(s):
        s.p.terminate()
        try: s.p.wait(60)
        except subprocess.TimeoutExpired: s.p.kill()
    def kill(s): s.p.send_signal(signal.SIGKILL); s.p.wait()
    def req(s,m,path,body=None,who='alice',timeout=60,headers=None,raw=False):
        c=http.client.HTTPConnection('127.0.0.1',s.port,timeout=timeout)
        h=dict(headers or {})
        if s.k.get(who): h['Authorization']='Bearer '+s.k[who]
        if body is not None and not isinstance(body,(bytes,bytearray)):
            body=json.dumps(body).encode(); h.setdefault('Content-Type','application/json')
        c.request(m,path,body,h); r=c.getresponse(); b=r.read(); c.close()
        if raw: return r.status,dict(r.getheaders()),b
        try: b=json.loads(b)
        except ValueError: pass
        return r.status,dict(r.getheaders()),b
    def run(s,code,session='new',who='alice',timeout=120,**kw):
        p={'language':'python','code':code,'session':session,**kw}
        if session is None: p.pop('session')
        st,h,b=s.req('POST','/rpc',{'jsonrpc':'2.0','id':1,'method':'run_code','params':p},who,timeout)
        if not isinstance(b,dict): return {'error':{'status':st,'body':b}}
        return b.get('result') or {'error':b.get('error')}
def bg(f,*a,**k):
    out={}
    def go():
        t=time.time()
        try: out['r']=f(*a,**k)
        except Exception as e: out['e']=repr(e)
        out['t']=time.time()-t
    th=threading.Thread(target=go,daemon=True); th.start(); out['th']=th
    return out
def short(r,n=300): return json.dumps(r)[:n]
